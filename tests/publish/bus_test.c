// The connection, the name and the signals: a bus that is there, is not, ends, comes back, refuses
// or does not read.
// SPDX-License-Identifier: MIT
#include "bus_fixture.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bounds.h"

#define LIFE "\"00112233445566778899aabbccddeeff-4242-100-1\", 4242, 100"

static void expect_change(BusFixture *fixture, const char *text) {
    bus_expect_signal(fixture, DISCOVERY_BUS_INTERFACE, "ProcessChanged", text);
}

static bool is_told(BusFixture *fixture, pid_t pid) {
    bus_fixture_run(fixture);
    while (fake_bus_next(&fixture->fake)) {
    }
    bus_fixture_begin(fixture, pid, 0);
    bus_fixture_run(fixture);
    return fake_bus_next(&fixture->fake);
}

static void test_each_change_is_one_signal(void **state) {
    BusFixture *fixture = *state;
    uint64_t serial = bus_fixture_begin(fixture, 4242, 1000);
    expect_change(fixture, "1, " LIFE ", \"detected\", \"\", \"\"");
    bus_fixture_failed(fixture, serial, OUTCOME_TIMEOUT);
    expect_change(fixture, "2, " LIFE ", \"unreachable\", \"detected\", \"timeout\"");
    bus_fixture_ready(fixture, serial, 1);
    expect_change(fixture, "3, " LIFE ", \"ready\", \"unreachable\", \"\"");
    bus_fixture_gone(fixture, serial);
    expect_change(fixture, "4, " LIFE ", \"gone\", \"ready\", \"\"");
    bus_expect_nothing(fixture);
}

static void test_a_change_of_status_is_told(void **state) {
    BusFixture *fixture = *state;
    bus_status_changed(fixture->bus);
    bus_expect_signal(fixture, PROPERTIES, "PropertiesChanged",
                      "\"org.dotnetdiscovery1.Manager\", [\"Mechanism\": s \"tracepoint\", "
                      "\"Degraded\": as [\"no scan\"]], []");
}

static void test_the_name_is_queued_for_and_never_taken_away(void **state) {
    BusFixture *fixture = *state;
    assert_int_equal(fixture->fake.name_flags, 0);
}

static void test_nothing_is_told_without_the_name(void **state) {
    BusFixture *fixture = *state;
    static const uint32_t results[] = {0, 2, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        fixture->fake.name_result = results[i];
        fake_bus_disconnect(&fixture->fake, false);
        bus_fixture_wait_connection(fixture, 2 + (unsigned)i);
        assert_false(is_told(fixture, 100 + (pid_t)i));
        bus_status_changed(fixture->bus);
        bus_expect_nothing(fixture);
    }
    fake_bus_name(&fixture->fake, "NameAcquired");
    assert_true(is_told(fixture, 200));
    fake_bus_name(&fixture->fake, "NameLost");
    assert_false(is_told(fixture, 201));
    assert_int_equal(bus_counters(fixture->bus)->signals_dropped, 0);
    // The reply tells it as well.
    fixture->fake.name_result = 4;
    fake_bus_disconnect(&fixture->fake, false);
    bus_fixture_wait_connection(fixture, 5);
    assert_true(is_told(fixture, 300));
}

static void test_only_the_bus_gives_the_name(void **state) {
    BusFixture *fixture = *state;
    fixture->fake.name_result = 2;
    fake_bus_disconnect(&fixture->fake, false);
    bus_fixture_wait_connection(fixture, 2);
    sd_bus_message *message;
    assert_true(sd_bus_message_new_signal(fixture->fake.connection, &message,
                                          "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                          "NameAcquired") >= 0);
    assert_true(sd_bus_message_set_sender(message, ":1.9") >= 0);
    assert_true(sd_bus_message_append(message, "s", DISCOVERY_BUS_NAME) >= 0);
    fake_bus_send(&fixture->fake, message);
    assert_false(is_told(fixture, 1));
}

static void test_a_bus_that_comes_later(void **state) {
    BusFixture *fixture = *state;
    bus_fixture_start(fixture);
    bus_fixture_begin(fixture, 1, 0);
    bus_fixture_run(fixture);
    fake_bus_listen(&fixture->fake);
    bus_fixture_wait_connection(fixture, 1);
    bus_expect_nothing(fixture);
    assert_true(is_told(fixture, 2));
}

static void test_a_bus_that_ends_and_comes_back(void **state) {
    BusFixture *fixture = *state;
    for (unsigned count = 2; count < 4; count++) {
        fake_bus_disconnect(&fixture->fake, true);
        bus_fixture_run(fixture);
        bus_fixture_begin(fixture, (pid_t)count, 0);
        fake_bus_listen(&fixture->fake);
        bus_fixture_wait_connection(fixture, count);
        bus_expect_nothing(fixture);
        assert_true(is_told(fixture, 100 + (pid_t)count));
    }
}

static void test_garbage_ends_the_connection_and_no_more(void **state) {
    BusFixture *fixture = *state;
    static const char garbage[] = "GET / HTTP/1.1\r\nHost: bus\r\n\r\n";
    assert_int_equal(write(sd_bus_get_fd(fixture->fake.connection), garbage, sizeof garbage),
                     sizeof garbage);
    for (int turns = 0; turns < 1000 && sd_bus_is_open(fixture->fake.connection) > 0; turns++)
        sd_event_run(fixture->event, USEC_PER_SEC);
    fake_bus_disconnect(&fixture->fake, false);
    bus_fixture_wait_connection(fixture, 2);
    assert_true(is_told(fixture, 1));
}

static void test_a_bus_that_never_lasts_is_asked_less_and_less(void **state) {
    BusFixture *fixture = *state;
    // At once, then only when the timer says so.
    fake_bus_disconnect(&fixture->fake, false);
    bus_fixture_run(fixture);
    assert_int_equal(fixture->fake.connections, 2);
    fake_bus_disconnect(&fixture->fake, false);
    bus_fixture_run(fixture);
    assert_int_equal(fixture->fake.connections, 2);
    bus_fixture_wait_connection(fixture, 3);
    assert_true(is_told(fixture, 1));
}

static void test_an_address_that_is_none(void **state) {
    BusFixture *fixture = *state;
    memcpy(fixture->fake.address, "nonsense", sizeof "nonsense");
    bus_fixture_start(fixture);
    bus_fixture_run(fixture);
    bus_fixture_begin(fixture, 1, 0);
    bus_status_changed(fixture->bus);
    bus_fixture_run(fixture);
}

static uint64_t fill(BusFixture *fixture) {
    const BusCounters *counters = bus_counters(fixture->bus);
    uint64_t sent = 0;
    for (; counters->signals_dropped == 0; sent++) {
        uint64_t serial = bus_fixture_begin(fixture, 1, 0);
        bus_fixture_gone(fixture, serial);
        assert_true(sent < 30000);
    }
    return sent;
}

static void test_a_bus_that_does_not_read_costs_no_more_than_its_queue(void **state) {
    BusFixture *fixture = *state;
    fake_bus_pause(&fixture->fake);
    assert_true(fill(fixture) >= BOUND_BUS_QUEUE / 2);
    bus_fixture_run(fixture);
    uint64_t dropped = bus_counters(fixture->bus)->signals_dropped;
    uint64_t sequence = registry_sequence(fixture->registry);
    fake_bus_resume(&fixture->fake);
    bus_fixture_run(fixture);

    // Every signal that was not dropped comes, in order.
    uint64_t last = 0;
    sd_bus_message *message;
    while ((message = fake_bus_next(&fixture->fake))) {
        uint64_t got;
        assert_true(sd_bus_message_read(message, "t", &got) > 0);
        assert_int_equal(got, last + 1);
        last = got;
    }
    assert_int_equal(last, sequence - dropped);
    // The next one's number tells that some are missing.
    bus_fixture_begin(fixture, 2, 0);
    bus_fixture_run(fixture);
    message = fake_bus_next(&fixture->fake);
    assert_non_null(message);
    assert_true(sd_bus_message_read(message, "t", &last) > 0);
    assert_int_equal(last, sequence + 1);
}

static void test_a_bus_that_stands_still_gets_another_connection(void **state) {
    BusFixture *fixture = *state;
    fake_bus_pause(&fixture->fake);
    fill(fixture);
    uint64_t dropped = bus_counters(fixture->bus)->signals_dropped;
    fake_bus_name(&fixture->fake, "NameAcquired"); // something happens
    bus_fixture_wait_connection(fixture, 2);
    // What the first had not taken is told by none, and is counted.
    assert_int_equal(bus_counters(fixture->bus)->signals_dropped - dropped, BOUND_BUS_QUEUE);
    bus_expect_nothing(fixture);
    assert_true(is_told(fixture, 2));
    bus_call_property(fixture, ROOT, "ReadyCount");
    bus_expect_reply(fixture, ROOT, "u 0");
}

static void test_the_end_does_not_wait_for_the_bus(void **state) {
    BusFixture *fixture = *state;
    fake_bus_pause(&fixture->fake);
    fill(fixture);
    assert_true(sd_event_exit(fixture->event, 0) >= 0);
    assert_true(sd_event_loop(fixture->event) >= 0);
}

static void test_no_descriptors_are_taken(void **state) {
    BusFixture *fixture = *state;
    assert_int_equal(sd_bus_can_send(fixture->fake.connection, 'h'), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUS_TEST(test_each_change_is_one_signal),
        BUS_TEST(test_a_change_of_status_is_told),
        BUS_TEST(test_the_name_is_queued_for_and_never_taken_away),
        BUS_TEST(test_nothing_is_told_without_the_name),
        BUS_TEST(test_only_the_bus_gives_the_name),
        BUS_TEST_ALONE(test_a_bus_that_comes_later),
        BUS_TEST(test_a_bus_that_ends_and_comes_back),
        BUS_TEST(test_garbage_ends_the_connection_and_no_more),
        BUS_TEST(test_a_bus_that_never_lasts_is_asked_less_and_less),
        BUS_TEST_ALONE(test_an_address_that_is_none),
        BUS_TEST(test_a_bus_that_does_not_read_costs_no_more_than_its_queue),
        BUS_TEST(test_a_bus_that_stands_still_gets_another_connection),
        BUS_TEST(test_the_end_does_not_wait_for_the_bus),
        BUS_TEST(test_no_descriptors_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
