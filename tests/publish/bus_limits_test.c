// Calls over the bus in numbers and at length: what callers can make the daemon keep, and what
// happens at each bound.
// SPDX-License-Identifier: MIT
#include "bus_fixture.h"

#include <stdio.h>
#include <string.h>

#include "bounds.h"

// The caller's list has so many processes and takes more turns than there are other calls.
static void expect_collected_between_other_things(BusFixture *fixture, const char *caller,
                                                  size_t processes, size_t others) {
    uint64_t changes = registry_sequence(fixture->registry);
    bus_forget_signals(fixture);
    bus_call_list(fixture, caller);
    for (size_t i = 0; i < others; i++)
        bus_call_get(fixture, ROOT, 1);
    bus_fixture_run(fixture);
    // The calls that came later are answered while the list is made.
    sd_bus_message *reply;
    for (size_t i = 0; i < others; i++) {
        reply = fake_bus_next(&fixture->fake);
        assert_string_equal(sd_bus_message_get_signature(reply, true), "a{sv}");
    }
    reply = fake_bus_next(&fixture->fake);
    assert_string_equal(sd_bus_message_get_signature(reply, true), "taa{sv}");
    uint64_t sequence;
    assert_true(sd_bus_message_read(reply, "t", &sequence) > 0);
    assert_int_equal(sequence, changes);
    assert_true(sd_bus_message_enter_container(reply, 'a', "a{sv}") > 0);
    size_t count = 0;
    for (; sd_bus_message_at_end(reply, false) == 0; count++)
        assert_true(sd_bus_message_skip(reply, "a{sv}") >= 0);
    assert_int_equal(count, processes);
}

static void test_looking_at_many_is_done_between_other_things(void **state) {
    BusFixture *fixture = *state;
    for (pid_t pid = 1; pid <= 2000; pid++)
        bus_fixture_begin(fixture, pid, 0);
    expect_collected_between_other_things(fixture, STRANGER, 0, 3);
}

static void test_a_list_of_large_ones_is_collected_between_other_things(void **state) {
    BusFixture *fixture = *state;
    for (pid_t pid = 1; pid <= 200; pid++)
        bus_fixture_ready(fixture, bus_fixture_begin(fixture, pid, 0), 4000);
    expect_collected_between_other_things(fixture, ROOT, 200, 6);
}

static void test_a_list_that_is_too_long(void **state) {
    BusFixture *fixture = *state;
    for (pid_t pid = 1; pid <= 1100; pid++)
        bus_fixture_ready(fixture, bus_fixture_begin(fixture, pid, pid == 1 ? 1000 : 0), 4000);
    bus_forget_signals(fixture);
    bus_call_list(fixture, ROOT);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_LIMITS_EXCEEDED);
    bus_call_list(fixture, OWNER);
    bus_expect_reply(fixture, OWNER, NULL);
}

static void test_calls_are_bounded(void **state) {
    BusFixture *fixture = *state;
    fixture->fake.keeps_questions = true;
    for (size_t i = 0; i < BOUND_BUS_CALLS; i++)
        bus_call_get(fixture, ROOT, 1);
    bus_expect_nothing(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls, BOUND_BUS_CALLS);
    bus_call_get(fixture, ROOT, 1);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_LIMITS_EXCEEDED);
    bus_call_property(fixture, ROOT, "ReadyCount");
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_LIMITS_EXCEEDED);
    assert_int_equal(bus_counters(fixture->bus)->refused, 2);
    fake_bus_answer(&fixture->fake);
    for (size_t i = 0; i < BOUND_BUS_CALLS; i++)
        bus_expect_error(fixture, ROOT, NO_SUCH_PROCESS);
    assert_int_equal(bus_counters(fixture->bus)->calls, 0);
    fixture->fake.keeps_questions = false;
    bus_call_property(fixture, ROOT, "ReadyCount");
    bus_expect_reply(fixture, ROOT, "u 0");
}

static void test_lists_wait_for_a_bus_that_does_not_read_and_are_bounded(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    fixture->fake.keeps_questions = true;
    FakeCaller many[BOUND_BUS_LISTS];
    char names[BOUND_BUS_LISTS][16];
    for (size_t i = 0; i < BOUND_BUS_LISTS; i++) {
        snprintf(names[i], sizeof names[i], ":2.%zu", i);
        many[i] = (FakeCaller){.name = names[i], .uid = (uint32_t)(2000 + i)};
    }
    fixture->fake.callers = many;
    fixture->fake.caller_count = BOUND_BUS_LISTS;
    for (size_t i = 0; i < BOUND_BUS_LISTS_PER_UID + 3; i++)
        bus_call_list(fixture, names[0]);
    for (size_t i = 1; i < BOUND_BUS_LISTS; i++)
        bus_call_list(fixture, names[i]);
    bus_call_list(fixture, ROOT);
    bus_fixture_run(fixture);

    fake_bus_pause(&fixture->fake);
    while (bus_counters(fixture->bus)->signals_dropped == 0) {
        uint64_t serial = bus_fixture_begin(fixture, 1, 0);
        bus_fixture_gone(fixture, serial);
    }
    fake_bus_answer(&fixture->fake);
    // The loop rests, and lists wait up to their bounds; the last is root's.
    bus_fixture_run(fixture);
    size_t others = BOUND_BUS_LISTS - BOUND_BUS_LISTS / BOUND_ROOT_DIVISOR;
    assert_int_equal(bus_counters(fixture->bus)->calls, others + 1);
    assert_int_equal(bus_counters(fixture->bus)->refused,
                     3 + (BOUND_BUS_LISTS_PER_UID + BOUND_BUS_LISTS - 1 - others));
    // A call meanwhile gets no reply.
    uint64_t refused = bus_counters(fixture->bus)->refused;
    bus_call_get(fixture, ROOT, 1);
    bus_fixture_run(fixture);
    assert_int_equal(bus_counters(fixture->bus)->refused, refused + 1);

    fake_bus_resume(&fixture->fake);
    bus_fixture_run(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls, 0);
    sd_bus_message *message, *last = NULL;
    size_t of_first = 0;
    while ((message = fake_bus_next(&fixture->fake))) {
        const char *to = sd_bus_message_get_destination(message);
        of_first += to && strcmp(to, names[0]) == 0 && !sd_bus_message_get_error(message);
        last = message;
    }
    assert_int_equal(of_first, BOUND_BUS_LISTS_PER_UID);
    assert_string_equal(sd_bus_message_get_destination(last), ROOT);
    assert_string_equal(sd_bus_message_get_signature(last, true), "taa{sv}");
}

static void test_calls_end_with_their_connection(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    for (unsigned i = 0; i < 2; i++) {
        fixture->fake.keeps_questions = i == 0;
        for (int calls = 0; calls < 10; calls++) {
            bus_call_list(fixture, ROOT);
            bus_call_get(fixture, ROOT, 10);
        }
        if (i == 0)
            bus_fixture_run(fixture);
        fake_bus_disconnect(&fixture->fake, false);
        bus_fixture_wait_connection(fixture, 2 + i);
        assert_int_equal(bus_counters(fixture->bus)->calls, 0);
    }
    fixture->fake.keeps_questions = false;
    bus_forget_signals(fixture);
    bus_call_property(fixture, OWNER, "ReadyCount");
    bus_expect_reply(fixture, OWNER, "u 1");
}

static void test_the_end_with_calls_under_way(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    fixture->fake.keeps_questions = true;
    for (int calls = 0; calls < 10; calls++)
        bus_call_list(fixture, ROOT);
    bus_fixture_run(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls, 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUS_TEST(test_looking_at_many_is_done_between_other_things),
        BUS_TEST(test_a_list_of_large_ones_is_collected_between_other_things),
        BUS_TEST(test_a_list_that_is_too_long),
        BUS_TEST(test_calls_are_bounded),
        BUS_TEST(test_lists_wait_for_a_bus_that_does_not_read_and_are_bounded),
        BUS_TEST(test_calls_end_with_their_connection),
        BUS_TEST(test_the_end_with_calls_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
