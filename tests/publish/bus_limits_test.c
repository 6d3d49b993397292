// Calls over the bus in numbers and at length: what callers can make the daemon keep, and what
// happens at each bound.
// SPDX-License-Identifier: MIT
#include "bus_fixture.h"

#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "instant.h"

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

static void begin_large(BusFixture *fixture, pid_t first, pid_t count, uid_t uid) {
    for (pid_t pid = first; pid < first + count; pid++)
        bus_fixture_ready(fixture, bus_fixture_begin(fixture, pid, uid), 4000);
    bus_forget_signals(fixture);
}

static void test_a_list_that_is_too_long(void **state) {
    BusFixture *fixture = *state;
    begin_large(fixture, 1, BOUND_BUS_LIST / 4000 + 1, 1000);
    bus_call_list(fixture, OWNER);
    bus_expect_error(fixture, OWNER, SD_BUS_ERROR_LIMITS_EXCEEDED);
    // Who sees all has more to see.
    bus_call_list(fixture, MEMBER);
    bus_expect_reply(fixture, MEMBER, NULL);
    begin_large(fixture, 1000, BOUND_BUS_LIST_OF_ALL / 4000, 0);
    bus_call_list(fixture, ROOT);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_LIMITS_EXCEEDED);
    bus_call_list_where(fixture, "Uid", "u", NULL, 1000);
    bus_expect_reply(fixture, ROOT, NULL);
}

static void test_lists_that_are_too_long_are_not_made_without_end(void **state) {
    BusFixture *fixture = *state;
    begin_large(fixture, 1, BOUND_BUS_LIST / 4000 + 1, 1000);
    for (size_t i = 0; i <= BOUND_BUS_BURST / BOUND_BUS_LIST; i++) {
        bus_call_list(fixture, OWNER);
        bus_expect_error(fixture, OWNER, SD_BUS_ERROR_LIMITS_EXCEEDED);
    }
    assert_int_equal(bus_counters(fixture->bus)->refused, 1);
}

static void test_calls_of_a_client_are_bounded_until_it_is_known(void **state) {
    BusFixture *fixture = *state;
    fixture->fake.keeps_questions = true;
    for (size_t i = 0; i < BOUND_BUS_CALLS_PER_CALLER; i++)
        bus_call_get(fixture, OWNER, 1);
    bus_expect_nothing(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls, BOUND_BUS_CALLS_PER_CALLER);
    bus_call_property(fixture, OWNER, "ReadyCount");
    bus_expect_error(fixture, OWNER, SD_BUS_ERROR_LIMITS_EXCEEDED);
    assert_int_equal(bus_counters(fixture->bus)->refused, 1);
    // Others are not the worse for it, and each is asked for once.
    bus_call_get(fixture, ROOT, 1);
    bus_expect_nothing(fixture);
    assert_int_equal(fixture->fake.question_count, 2);
    fake_bus_answer(&fixture->fake);
    for (size_t i = 0; i < BOUND_BUS_CALLS_PER_CALLER; i++)
        bus_expect_error(fixture, OWNER, NO_SUCH_PROCESS);
    bus_expect_error(fixture, ROOT, NO_SUCH_PROCESS);
    assert_int_equal(bus_counters(fixture->bus)->calls, 0);
    // Never again.
    for (size_t i = 0; i < BOUND_BUS_CALLS_PER_CALLER + 1; i++) {
        bus_call_property(fixture, OWNER, "ReadyCount");
        bus_expect_reply(fixture, OWNER, "u 0");
    }
    assert_int_equal(fixture->fake.question_count, 0);
}

static void call_as(BusFixture *fixture, size_t number) {
    char name[16];
    snprintf(name, sizeof name, ":3.%zu", number);
    bus_call_get(fixture, name, 1);
}

static void test_calls_of_all_clients_are_bounded(void **state) {
    BusFixture *fixture = *state;
    fixture->fake.keeps_questions = true;
    for (size_t i = 0; i < BOUND_BUS_CALLS; i++)
        call_as(fixture, i / BOUND_BUS_CALLS_PER_CALLER);
    bus_expect_nothing(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls, BOUND_BUS_CALLS);
    bus_call_get(fixture, ROOT, 1);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_LIMITS_EXCEEDED);
    fake_bus_answer(&fixture->fake);
    bus_forget_signals(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls, 0);
}

static void test_who_has_not_called_for_longest_is_forgotten(void **state) {
    BusFixture *fixture = *state;
    bus_call_get(fixture, ROOT, 1);
    bus_expect_error(fixture, ROOT, NO_SUCH_PROCESS);
    for (size_t i = 0; i < BOUND_BUS_CALLERS; i++) {
        call_as(fixture, i);
        bus_fixture_run(fixture);
    }
    bus_forget_signals(fixture);
    fixture->fake.keeps_questions = true;
    call_as(fixture, 1);
    bus_fixture_run(fixture);
    assert_int_equal(fixture->fake.question_count, 0);
    bus_forget_signals(fixture);
    bus_call_get(fixture, ROOT, 1);
    bus_expect_nothing(fixture);
    assert_int_equal(fixture->fake.question_count, 1);
    fake_bus_answer(&fixture->fake);
    bus_expect_error(fixture, ROOT, NO_SUCH_PROCESS);
}

// The name of the error that the caller gets; "" for none.
static const char *ask(BusFixture *fixture, const char *caller) {
    bus_call_property(fixture, caller, "ReadyCount");
    bus_fixture_run(fixture);
    sd_bus_message *reply = fake_bus_next(&fixture->fake);
    assert_non_null(reply);
    assert_string_equal(sd_bus_message_get_destination(reply), caller);
    const sd_bus_error *error = sd_bus_message_get_error(reply);
    return error ? error->name : "";
}

static void test_what_a_user_is_told_is_bounded(void **state) {
    BusFixture *fixture = *state;
    size_t answers = 0;
    while (strcmp(ask(fixture, OWNER), "") == 0)
        assert_true(++answers <= 2U * BOUND_BUS_BURST / BOUND_BUS_REPLY);
    assert_string_equal(ask(fixture, OWNER), SD_BUS_ERROR_LIMITS_EXCEEDED);
    uint64_t refused = bus_counters(fixture->bus)->refused;
    bus_call_list(fixture, OWNER);
    bus_expect_error(fixture, OWNER, SD_BUS_ERROR_LIMITS_EXCEEDED);
    assert_int_equal(bus_counters(fixture->bus)->refused, refused + 1);
    // Another client of the same user, another user, root.
    assert_string_equal(ask(fixture, MEMBER), SD_BUS_ERROR_LIMITS_EXCEEDED);
    assert_string_equal(ask(fixture, STRANGER), "");
    assert_string_equal(ask(fixture, ROOT), "");
}

static void test_who_calls_on_and_on_uses_up_nothing_of_others(void **state) {
    BusFixture *fixture = *state;
    assert_string_equal(ask(fixture, OWNER), "");
    const uint64_t begun_us = instant_now().boottime_us;
    const size_t calls = (BOUND_BUS_USERS_BURST + 2U * BOUND_BUS_BURST) / BOUND_BUS_REPLY;
    enum { AT_ONCE = 512 };
    size_t told = 0;
    for (size_t i = 0; i < calls / AT_ONCE; i++) {
        for (size_t j = 0; j < AT_ONCE; j++)
            bus_call_property(fixture, OWNER, "ReadyCount");
        bus_fixture_run(fixture);
        while (fake_bus_next(&fixture->fake))
            told++;
    }
    // Answers, and refusals of as many bytes.
    uint64_t lasted_us = instant_now().boottime_us - begun_us;
    uint64_t bytes = BOUND_BUS_BURST + BOUND_BUS_PER_SECOND * lasted_us / USEC_PER_SEC;
    assert_in_range(told, BOUND_BUS_BURST / BOUND_BUS_REPLY, 2 * bytes / BOUND_BUS_REPLY + 2);
    assert_string_equal(ask(fixture, STRANGER), "");
}

// A few signals that the bus has not taken.
static void make_backlog(BusFixture *fixture) {
    fake_bus_pause(&fixture->fake);
    for (int i = 0; i < 1000; i++) {
        uint64_t serial = bus_fixture_begin(fixture, 1, 0);
        bus_fixture_gone(fixture, serial);
    }
    assert_int_equal(bus_counters(fixture->bus)->signals_dropped, 0);
}

static void test_users_wait_for_a_bus_that_does_not_read_and_root_does_not(void **state) {
    BusFixture *fixture = *state;
    static const char *const known[] = {OWNER, STRANGER, ROOT};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(ask(fixture, known[i]), "");
    make_backlog(fixture);
    enum { PART = BOUND_BUS_CALLS / BOUND_UID_DIVISOR };
    for (size_t i = 0; i < PART + 5; i++)
        bus_call_get(fixture, OWNER, 1);
    bus_call_get(fixture, STRANGER, 1);
    bus_call_get(fixture, ROOT, 1);
    bus_fixture_run(fixture);
    // Root's reply is made; the others' calls wait, of each user a part.
    assert_int_equal(bus_counters(fixture->bus)->calls, PART + 1);
    assert_int_equal(bus_counters(fixture->bus)->refused, 5);
    fake_bus_resume(&fixture->fake);
    bus_fixture_run(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls, 0);
    size_t of_owner = 0, before_root = SIZE_MAX;
    for (sd_bus_message *message; (message = fake_bus_next(&fixture->fake));) {
        const char *to = sd_bus_message_get_destination(message);
        of_owner += to && strcmp(to, OWNER) == 0;
        if (to && strcmp(to, ROOT) == 0)
            before_root = of_owner;
    }
    assert_int_equal(before_root, 0);
    assert_int_equal(of_owner, PART);
}

static void test_nothing_of_what_a_caller_sent_is_sent_back(void **state) {
    BusFixture *fixture = *state;
    enum { SIZE = 8 << 20 };
    static char large[SIZE];
    memset(large, 'a', SIZE - 1);
    static const char *const members[] = {"Get", "GetAll", "Set"};
    for (size_t i = 0; i < 6; i++) {
        sd_bus_message *message = fake_bus_call(&fixture->fake, ROOT, PROPERTIES, members[i % 3]);
        const char *interface = i < 3 ? large : DISCOVERY_BUS_INTERFACE;
        int r = sd_bus_message_append(message, "s", i == 4 ? large : interface);
        if (r >= 0 && i % 3 != 1)
            r = sd_bus_message_append(message, "s", large);
        if (r >= 0 && i % 3 == 2)
            r = sd_bus_message_append(message, "v", "s", large);
        assert_true(r >= 0);
        fake_bus_send(&fixture->fake, message);
        bus_fixture_run(fixture);
        const sd_bus_error *error = sd_bus_message_get_error(fake_bus_next(&fixture->fake));
        assert_non_null(error);
        assert_true(strlen(error->message) < 64);
    }
}

// sd-bus would look up each of the path's prefixes, copied anew.
static void test_a_long_path_is_not_looked_up(void **state) {
    BusFixture *fixture = *state;
    static char path[64001];
    for (size_t i = 0; i + 1 < sizeof path; i += 2)
        memcpy(path + i, "/a", 2);
    sd_bus_message *message;
    assert_true(sd_bus_message_new_method_call(fixture->fake.connection, &message,
                                               DISCOVERY_BUS_NAME, path, DISCOVERY_BUS_INTERFACE,
                                               "GetStatus") >= 0);
    assert_true(sd_bus_message_set_sender(message, ROOT) >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_fixture_run(fixture);
    const sd_bus_error *error = sd_bus_message_get_error(fake_bus_next(&fixture->fake));
    assert_string_equal(error->name, SD_BUS_ERROR_UNKNOWN_OBJECT);
    assert_string_equal(error->message, "There is no such object.");
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
    // The loop rests, and all wait.
    bus_fixture_run(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls,
                     BOUND_BUS_LISTS_PER_UID + 3 + BOUND_BUS_LISTS);
    assert_int_equal(bus_counters(fixture->bus)->refused, 0);
    // A call meanwhile gets no reply.
    bus_call_get(fixture, ROOT, 1);
    bus_fixture_run(fixture);
    assert_int_equal(bus_counters(fixture->bus)->refused, 1);

    fake_bus_resume(&fixture->fake);
    bus_fixture_run(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls, 0);
    size_t of_first = 0, lists = 0;
    const char *first = NULL;
    for (sd_bus_message *message; (message = fake_bus_next(&fixture->fake));) {
        const char *to = sd_bus_message_get_destination(message);
        if (!to || sd_bus_message_get_error(message))
            continue;
        assert_string_equal(sd_bus_message_get_signature(message, true), "taa{sv}");
        lists++;
        of_first += strcmp(to, names[0]) == 0;
        if (!first)
            first = to;
    }
    assert_string_equal(first, ROOT);
    assert_int_equal(of_first, BOUND_BUS_LISTS_PER_UID);
    // A part of all is kept for root, whose list counts as well as others'.
    assert_int_equal(lists, BOUND_BUS_LISTS - BOUND_BUS_LISTS / BOUND_ROOT_DIVISOR + 1);
    assert_int_equal(bus_counters(fixture->bus)->refused,
                     1 + BOUND_BUS_LISTS_PER_UID + 3 + BOUND_BUS_LISTS - lists);
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
        BUS_TEST(test_lists_that_are_too_long_are_not_made_without_end),
        BUS_TEST(test_calls_of_a_client_are_bounded_until_it_is_known),
        BUS_TEST(test_calls_of_all_clients_are_bounded),
        BUS_TEST(test_who_has_not_called_for_longest_is_forgotten),
        BUS_TEST(test_what_a_user_is_told_is_bounded),
        BUS_TEST(test_who_calls_on_and_on_uses_up_nothing_of_others),
        BUS_TEST(test_users_wait_for_a_bus_that_does_not_read_and_root_does_not),
        BUS_TEST(test_nothing_of_what_a_caller_sent_is_sent_back),
        BUS_TEST(test_a_long_path_is_not_looked_up),
        BUS_TEST(test_lists_wait_for_a_bus_that_does_not_read_and_are_bounded),
        BUS_TEST(test_calls_end_with_their_connection),
        BUS_TEST(test_the_end_with_calls_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
