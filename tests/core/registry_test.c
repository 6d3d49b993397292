// The registry's course through situations with a name.
// SPDX-License-Identifier: MIT
#include "registry_fixture.h"

static void a_signal_begins_a_life_and_an_answer_makes_it_ready(void **state) {
    Fixture *f = *state;
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "follow probe publish");
    assert_false(f->actions.items[2].has_before);
    assert_int_equal(f->actions.items[2].process->sequence, 1);
    assert_state(f, 10, STATE_DETECTED, REASON_NONE);

    f->now += 300;
    Facts *facts = facts_new();
    facts->uid = 77;
    facts->gid = 78;
    facts->namespace_pid = 3;
    strcpy(facts->command, "renamed");
    facts->runtime_version = strdup("10.0.12");
    feed(f, (Input){.kind = INPUT_PROBED,
                    .probed = {.serial = 1, .outcome = OUTCOME_ANSWERED, .facts = facts}});
    assert_actions(f, "publish");
    const Action *change = &f->actions.items[0];
    assert_true(change->has_before);
    assert_int_equal(change->before.state, STATE_DETECTED);
    assert_int_equal(change->before.uid, 1000);
    assert_string_equal(change->before.command, "app");
    assert_int_equal(change->process->traits.uid, 77);
    assert_string_equal(change->process->traits.command, "renamed");
    assert_string_equal(change->process->traits.facts->runtime_version, "10.0.12");
    assert_int_equal(change->process->namespace_pid, 3);
    assert_int_equal(change->process->ready.boottime_us, T0 + 300);
    assert_int_equal(change->process->sequence, 2);
    assert_true(registry_next_deadline(f->registry) == USEC_NEVER);
}

static void an_exit_is_told_once(void **state) {
    Fixture *f = *state;
    feed_signal(f, sample_signal(10, 5, 1));
    feed(f, (Input){.kind = INPUT_EXIT, .exit.serial = 1});
    assert_actions(f, "publish cancel unfollow");
    assert_int_equal(f->actions.items[0].process->traits.state, STATE_GONE);
    assert_null(registry_find_pid(f->registry, 10));
    feed(f, (Input){.kind = INPUT_EXIT, .exit.serial = 1});
    assert_actions(f, "");
    // A record of that life still on its way, and the outcome of an attempt.
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "");
    feed_probed(f, 1, OUTCOME_ANSWERED, NULL);
    assert_actions(f, "");
    assert_int_equal(registry_counters(f->registry)->signals_stale, 1);
}

static void a_second_signal_changes_only_what_it_adds(void **state) {
    Fixture *f = *state;
    Signal scan = sample_signal(10, 5, 1);
    scan.kind = SIGNAL_SCAN;
    scan.protection = PROTECTION_UNKNOWN;
    feed_signal(f, scan);
    feed_probed(f, 1, OUTCOME_ANSWERED, NULL);
    feed_signal(f, scan);
    assert_actions(f, "");
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "publish");
    assert_int_equal(f->actions.items[0].before.state, STATE_READY);
    assert_int_equal(f->actions.items[0].process->protection, 0);
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "");
    assert_int_equal(registry_count(f->registry), 1);
}

static void another_exec_count_is_another_life(void **state) {
    Fixture *f = *state;
    feed_signal(f, sample_signal(10, 5, 1));
    feed_probed(f, 1, OUTCOME_ANSWERED, NULL);
    feed_signal(f, sample_signal(10, 5, 2));
    assert_actions(f, "publish unfollow follow probe publish");
    assert_int_equal(f->actions.items[0].process->traits.state, STATE_GONE);
    assert_int_equal(f->actions.items[4].process->serial, 2);
    // The record of the exec itself, late; then a record of the life before.
    feed_exec(f, 10, 5, 2);
    assert_actions(f, "");
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "");
    assert_int_equal(registry_find_pid(f->registry, 10)->serial, 2);
}

static void an_exec_ends_a_life(void **state) {
    Fixture *f = *state;
    feed_signal(f, sample_signal(10, 5, 1));
    feed_exec(f, 10, 4, 9); // of an earlier process with this pid
    assert_actions(f, "");
    feed_exec(f, 11, 5, 2); // of one that nobody follows
    assert_actions(f, "");
    feed_exec(f, 10, 5, 2);
    assert_actions(f, "publish cancel unfollow");
    feed_signal(f, sample_signal(10, 5, 2));
    assert_actions(f, "follow probe publish");
    assert_int_equal(registry_counters(f->registry)->execs, 1);
}

// A scan looked at the process before its execve and is read after the record of that.
static void an_exec_of_one_not_yet_known_ends_what_a_scan_saw(void **state) {
    Fixture *f = *state;
    Signal scan = sample_signal(10, 5, 1);
    scan.kind = SIGNAL_SCAN;
    feed_exec(f, 10, 5, 2);
    assert_actions(f, "");
    feed_signal(f, scan);
    assert_actions(f, "");
    assert_int_equal(registry_counters(f->registry)->signals_stale, 1);
    assert_int_equal(registry_counters(f->registry)->execs, 0);
    feed_signal(f, sample_signal(10, 5, 2));
    assert_actions(f, "follow probe publish");

    // The pid is known, but as another process's.
    feed_exec(f, 10, 8, 1);
    assert_actions(f, "");
    feed_signal(f, sample_signal(10, 8, 0));
    assert_actions(f, "");
    feed_signal(f, sample_signal(10, 8, 1));
    assert_actions(f, "publish cancel unfollow follow probe publish");

    // There is nothing before a first one, and what is not known is not buried.
    feed_exec(f, 11, 5, 0);
    feed_exec(f, 12, 5, EXEC_COUNT_UNKNOWN);
    feed_signal(f, sample_signal(11, 5, 0));
    assert_actions(f, "follow probe publish");
}

static void a_reused_pid_is_another_process(void **state) {
    Fixture *f = *state;
    feed_signal(f, sample_signal(10, 5, 1));
    feed_signal(f, sample_signal(10, 9, 0));
    assert_actions(f, "publish cancel unfollow follow probe publish");
    assert_int_equal(registry_find_pid(f->registry, 10)->key.start_ticks, 9);
}

static void a_slow_port_stays_detected_for_a_second(void **state) {
    Fixture *f = *state;
    feed_signal(f, sample_signal(10, 5, 1));
    feed_probed(f, 1, OUTCOME_REFUSED, "ECONNREFUSED");
    assert_actions(f, "");
    assert_state(f, 10, STATE_DETECTED, REASON_NONE);
    assert_int_equal(registry_next_deadline(f->registry), T0 + 1000);

    f->now = T0 + 999;
    feed_timer(f);
    assert_actions(f, "");
    f->now = T0 + 1000;
    feed_timer(f);
    assert_actions(f, "probe");
    assert_true(registry_next_deadline(f->registry) == USEC_NEVER);

    f->now = T0 + SECOND;
    feed_probed(f, 1, OUTCOME_NO_SOCKET, "nothing listens");
    assert_actions(f, "publish");
    assert_state(f, 10, STATE_UNREACHABLE, REASON_NO_SOCKET);
    assert_string_equal(registry_find_pid(f->registry, 10)->detail, "nothing listens");
    assert_int_equal(registry_next_deadline(f->registry), T0 + 2 * SECOND);
}

static void any_other_failure_is_told_at_once_and_only_once(void **state) {
    Fixture *f = *state;
    feed_signal(f, sample_signal(10, 5, 1));
    feed_probed(f, 1, OUTCOME_TIMEOUT, "stopped");
    assert_actions(f, "publish");
    assert_state(f, 10, STATE_UNREACHABLE, REASON_TIMEOUT);
    f->now = registry_next_deadline(f->registry);
    feed_timer(f);
    feed_probed(f, 1, OUTCOME_TIMEOUT, "stopped");
    assert_actions(f, "");
    f->now = registry_next_deadline(f->registry);
    feed_timer(f);
    feed_probed(f, 1, OUTCOME_REFUSED, "ECONNREFUSED");
    assert_actions(f, "publish");
    assert_int_equal(f->actions.items[0].before.state, STATE_UNREACHABLE);
    assert_state(f, 10, STATE_UNREACHABLE, REASON_REFUSED);
    // Says nothing of the port.
    feed_probed(f, 1, OUTCOME_NOT_TRIED, "EMFILE");
    assert_actions(f, "");
    assert_state(f, 10, STATE_UNREACHABLE, REASON_REFUSED);
    feed_probed(f, 1, OUTCOME_ANSWERED, NULL);
    assert_state(f, 10, STATE_READY, REASON_NONE);
    assert_null(registry_find_pid(f->registry, 10)->detail);
}

// It may never have been followed, but a later process with its pid.
static void an_attempt_that_finds_the_life_ended_ends_it(void **state) {
    Fixture *f = *state;
    feed_signal(f, sample_signal(10, 5, 1));
    feed_probed(f, 1, OUTCOME_VANISHED, "it has ended");
    assert_actions(f, "publish unfollow");
    assert_int_equal(f->actions.items[0].process->traits.state, STATE_GONE);
    assert_null(f->actions.items[0].process->detail);
    assert_null(registry_find_pid(f->registry, 10));
    assert_true(registry_next_deadline(f->registry) == USEC_NEVER);
    assert_int_equal(registry_counters(f->registry)->dropped_owners, 0);
    assert_int_equal(registry_counters(f->registry)->vanished, 1);
    // Its exit, and a record still on its way; then the pid's next life.
    feed(f, (Input){.kind = INPUT_EXIT, .exit.serial = 1});
    assert_actions(f, "");
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "");
    feed_signal(f, sample_signal(10, 6, 0));
    assert_actions(f, "follow probe publish");

    // Of unknown exec count: what the process runs now looks the same.
    Signal scan = sample_signal(11, 5, EXEC_COUNT_UNKNOWN);
    scan.kind = SIGNAL_SCAN;
    feed_signal(f, scan);
    feed_probed(f, 3, OUTCOME_VANISHED, "it has ended");
    assert_actions(f, "publish unfollow");
    assert_int_equal(registry_counters(f->registry)->vanished, 2);
    feed_signal(f, scan);
    assert_actions(f, "follow probe publish");
    // Yet its id is another one.
    assert_int_equal(registry_find_pid(f->registry, 11)->id_again, 4);
    feed_exec(f, 11, 5, EXEC_COUNT_UNKNOWN);
    assert_actions(f, "publish cancel unfollow");
    feed_signal(f, scan);
    assert_int_equal(registry_find_pid(f->registry, 11)->id_again, 5);
    scan.key.pid = 12;
    feed_signal(f, scan);
    assert_int_equal(registry_find_pid(f->registry, 12)->id_again, 0);
}

// It may live on, so what tells of it again begins it again; a rescan asks once something has
// ended that may have given back what was lacking.
static void one_that_was_not_followed_is_found_again(void **state) {
    Fixture *f = *state;
    const Input not_followed = {.kind = INPUT_EXIT, .exit = {.serial = 2, .not_followed = true}};
    feed_signal(f, sample_signal(9, 5, 1));
    feed_signal(f, sample_signal(10, 5, 1));
    feed(f, not_followed);
    assert_actions(f, "publish cancel unfollow");
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "follow probe publish");
    assert_int_equal(registry_counters(f->registry)->signals_stale, 0);
    feed(f, (Input){.kind = INPUT_EXIT, .exit = {.serial = 3, .not_followed = true}});
    assert_actions(f, "publish cancel unfollow");
    feed(f, (Input){.kind = INPUT_EXIT, .exit.serial = 1});
    assert_actions(f, "publish cancel unfollow rescan");
    feed_signal(f, sample_signal(10, 5, 1));
    feed(f, (Input){.kind = INPUT_EXIT, .exit.serial = 4});
    assert_actions(f, "publish cancel unfollow");
}

static void an_attempt_tells_the_protection_that_no_signal_told(void **state) {
    Fixture *f = *state;
    Signal scan = sample_signal(10, 5, 1);
    scan.kind = SIGNAL_SCAN;
    scan.protection = PROTECTION_UNKNOWN;
    feed_signal(f, scan);
    Facts *facts = facts_new();
    facts->protection = 5;
    feed(f, (Input){.kind = INPUT_PROBED,
                    .probed = {.serial = 1, .outcome = OUTCOME_TIMEOUT, .facts = facts}});
    assert_int_equal(registry_find_pid(f->registry, 10)->protection, 5);

    // What a signal told stays.
    facts = facts_new();
    facts->protection = 1;
    f->now = registry_next_deadline(f->registry);
    feed_timer(f);
    feed(f, (Input){.kind = INPUT_PROBED,
                    .probed = {.serial = 1, .outcome = OUTCOME_ANSWERED, .facts = facts}});
    assert_int_equal(registry_find_pid(f->registry, 10)->protection, 5);
}

static void retries_end_and_a_new_signal_begins_them_again(void **state) {
    Fixture *f = *state;
    feed_signal(f, sample_signal(10, 5, 1));
    size_t attempts = 0;
    for (;; attempts++) {
        feed_probed(f, 1, OUTCOME_REFUSED, "ECONNREFUSED");
        uint64_t next = registry_next_deadline(f->registry);
        if (next == USEC_NEVER)
            break;
        f->now = next;
        feed_timer(f);
        assert_actions(f, "probe");
    }
    assert_int_equal(attempts, 14);
    assert_int_equal(f->now, T0 + 30 * SECOND);
    // At once where a pause has passed since the last attempt, else after it: a process cannot make
    // the daemon ask it without end.
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "");
    assert_int_equal(registry_next_deadline(f->registry), T0 + 31 * SECOND);
    f->now = T0 + 31 * SECOND;
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "probe");
    feed_signal(f, sample_signal(10, 5, 1)); // one attempt at a time
    assert_actions(f, "");
    feed_probed(f, 1, OUTCOME_ANSWERED, NULL);
    assert_state(f, 10, STATE_READY, REASON_NONE);
}

static void a_signal_that_adds_something_during_an_attempt_leads_to_another(void **state) {
    Fixture *f = *state;
    Signal scan = sample_signal(10, 5, 1);
    scan.kind = SIGNAL_SCAN;
    scan.protection = PROTECTION_UNKNOWN;
    feed_signal(f, scan);
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, ""); // to be told with what the attempt yields
    feed_probed(f, 1, OUTCOME_NO_SOCKET, "too early");
    assert_actions(f, "probe");
    feed_probed(f, 1, OUTCOME_NO_SOCKET, "too early");
    assert_actions(f, "");
}

static void a_scanned_inheritor_is_dropped_but_a_named_one_is_told(void **state) {
    Fixture *f = *state;
    Signal scan = sample_signal(10, 5, EXEC_COUNT_UNKNOWN);
    scan.kind = SIGNAL_SCAN;
    feed_signal(f, scan);
    feed_probed(f, 1, OUTCOME_NOT_OWNER, "process 9 listens there");
    assert_actions(f, "publish unfollow");
    assert_int_equal(f->actions.items[0].process->traits.state, STATE_GONE);
    feed_signal(f, scan); // the next scan finds it again
    assert_actions(f, "");
    assert_int_equal(registry_counters(f->registry)->dropped_owners, 1);

    Signal own = scan; // after an execve
    strcpy(own.socket_path, "/tmp/dotnet-diagnostic-10-5-socket");
    feed_signal(f, own);
    assert_actions(f, "follow probe publish");
    feed(f, (Input){.kind = INPUT_EXIT, .exit.serial = 2});
    feed_signal(f, own);
    assert_actions(f, "");

    feed_signal(f, sample_signal(11, 5, 1));
    feed_probed(f, 3, OUTCOME_NOT_OWNER, "process 9 listens there");
    assert_actions(f, "publish");
    assert_state(f, 11, STATE_UNREACHABLE, REASON_NOT_OWNER);

    scan = sample_signal(12, 5, 1); // by the kernel's iterator, which compares who listens
    scan.kind = SIGNAL_SCAN;
    feed_signal(f, scan);
    feed_probed(f, 4, OUTCOME_NOT_OWNER, "process 9 listens there");
    assert_actions(f, "publish");
    assert_state(f, 12, STATE_UNREACHABLE, REASON_NOT_OWNER);
}

static void one_user_cannot_fill_the_registry(void **state) {
    Fixture *f = *state;
    for (pid_t pid = 1; pid <= 4; pid++)
        feed_signal(f, sample_signal(pid, 5, 1));
    feed_signal(f, sample_signal(5, 5, 1));
    assert_actions(f, "disregard");
    assert_int_equal(f->actions.items[0].key.pid, 5);
    assert_int_equal(registry_count(f->registry), 4);
    assert_true(registry_overflowed(f->registry));
    assert_int_equal(registry_counters(f->registry)->refused_quota, 1);
    Signal root = sample_signal(6, 5, 1);
    root.uid = 0;
    feed_signal(f, root);
    assert_actions(f, "follow probe publish");
    feed(f, (Input){.kind = INPUT_EXIT, .exit.serial = 1});
    assert_actions(f, "publish cancel unfollow rescan");
    assert_false(registry_overflowed(f->registry));
}

static void a_full_registry_asks_for_a_scan_once_there_is_room(void **state) {
    Fixture *f = *state;
    for (pid_t pid = 1; pid <= 17; pid++) {
        Signal signal = sample_signal(pid, 5, 1);
        signal.uid = 0;
        feed_signal(f, signal);
    }
    assert_actions(f, "disregard");
    assert_int_equal(registry_counters(f->registry)->refused_full, 1);
    feed(f, (Input){.kind = INPUT_EXIT, .exit.serial = 1});
    assert_actions(f, "publish cancel unfollow");
    feed(f, (Input){.kind = INPUT_EXIT, .exit.serial = 2});
    assert_actions(f, "publish cancel unfollow rescan");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_signal_begins_a_life_and_an_answer_makes_it_ready),
        TEST(an_exit_is_told_once),
        TEST(a_second_signal_changes_only_what_it_adds),
        TEST(another_exec_count_is_another_life),
        TEST(an_exec_ends_a_life),
        TEST(an_exec_of_one_not_yet_known_ends_what_a_scan_saw),
        TEST(a_reused_pid_is_another_process),
        TEST(a_slow_port_stays_detected_for_a_second),
        TEST(any_other_failure_is_told_at_once_and_only_once),
        TEST(an_attempt_that_finds_the_life_ended_ends_it),
        TEST(one_that_was_not_followed_is_found_again),
        TEST(an_attempt_tells_the_protection_that_no_signal_told),
        TEST(retries_end_and_a_new_signal_begins_them_again),
        TEST(a_signal_that_adds_something_during_an_attempt_leads_to_another),
        TEST(a_scanned_inheritor_is_dropped_but_a_named_one_is_told),
        TEST(one_user_cannot_fill_the_registry),
        TEST(a_full_registry_asks_for_a_scan_once_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
