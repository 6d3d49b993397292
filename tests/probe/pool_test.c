// The pool: order, places, cancelling at every moment, and what a callback may do.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bounds.h"
#include "fake_port.h"

#define NAME "dotnet-diagnostic-1-2-socket"

static void start_as(Fixture *fixture, uint64_t serial, pid_t pid, uid_t uid, const char *hint) {
    ProcessKey key = key_of(pid);
    assert_int_equal(probe_start(fixture->pool, serial,
                                 &(ProbeTarget){.key = key, .uid = uid, .socket_hint = hint}),
                     0);
}

static void start(Fixture *fixture, uint64_t serial, pid_t pid, const char *hint) {
    start_as(fixture, serial, pid, 0, hint);
}

static void assert_counts(const Fixture *fixture, size_t in_flight, size_t waiting) {
    assert_int_equal(probe_counters(fixture->pool)->in_flight, in_flight);
    assert_int_equal(probe_counters(fixture->pool)->waiting, waiting);
}

static void test_order(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    fixture_new_pool(fixture, 1);
    static const uint64_t serials[] = {7, 3, 9, 1, 5};
    for (size_t i = 0; i < 5; i++)
        start(fixture, serials[i], getpid(), port.path);
    assert_counts(fixture, 1, 4);
    assert_int_equal(fixture->results_count, 0);
    fixture_wait(fixture, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(fixture->results[i].probed.serial, serials[i]);
        assert_int_equal(fixture->results[i].probed.outcome, OUTCOME_ANSWERED);
    }
    assert_counts(fixture, 0, 0);
    assert_int_equal(probe_counters(fixture->pool)->attempts, 5);
    assert_int_equal(probe_counters(fixture->pool)->answered, 5);
    fake_port_done(&port);
}

static void test_places(void **state) {
    Fixture *fixture = *state;
    char path[SOCKET_PATH_SIZE];
    pid_t children[5];
    for (int i = 0; i < 5; i++) {
        char name[8] = {(char)('1' + i)};
        fixture_path(fixture, name, path);
        children[i] = child_listening(path);
    }
    size_t before = count_descriptors();
    for (int i = 0; i < 5; i++) {
        char name[8] = {(char)('1' + i)};
        fixture_path(fixture, name, path);
        start(fixture, (uint64_t)i + 1, children[i], path);
    }
    assert_counts(fixture, 2, 3);
    fixture_turn(fixture);
    assert_counts(fixture, 2, 3);

    probe_cancel(fixture->pool, 4);  // waits
    probe_cancel(fixture->pool, 1);  // runs
    probe_cancel(fixture->pool, 1);  // not there any more
    probe_cancel(fixture->pool, 99); // never was
    fixture_turn(fixture);
    assert_counts(fixture, 2, 1);

    fixture_new_pool(fixture, 2); // frees the other with all that runs and waits
    fixture_turn(fixture);
    assert_int_equal(fixture->results_count, 0);
    // The loop keeps one for its timers.
    assert_in_range(count_descriptors(), before, before + 1);
    for (int i = 0; i < 5; i++)
        end_child(children[i]);
}

// One process is asked once at a time, and those behind it are not held up.
static void test_one_at_a_time(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    char path[SOCKET_PATH_SIZE];
    fixture_path(fixture, "silent", path);
    pid_t child = child_listening(path);
    start(fixture, 1, child, path);
    start(fixture, 2, child, path);
    start(fixture, 3, getpid(), port.path);
    fixture_wait(fixture, 1);
    assert_int_equal(fixture->results[0].probed.serial, 3);
    assert_counts(fixture, 1, 1);
    probe_cancel(fixture->pool, 1);
    fixture_turn(fixture);
    assert_counts(fixture, 1, 0);
    end_child(child);
    fixture_wait(fixture, 2);
    assert_int_equal(fixture->results[1].probed.serial, 2);
    assert_int_equal(fixture->results[1].probed.outcome, OUTCOME_VANISHED);
    fake_port_done(&port);
}

// One user's silent processes take their part of the places, whoever came first; root's take all,
// and of what gets free then others have their turn.
static void test_uids(void **state) {
    Fixture *fixture = *state;
    enum { PLACES = 8, SILENT = 10, PART = PLACES / BOUND_UID_DIVISOR };
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    char paths[SILENT][SOCKET_PATH_SIZE];
    pid_t children[SILENT];
    fixture_new_pool(fixture, PLACES);
    for (int i = 0; i < SILENT; i++) {
        char name[8] = {(char)('a' + i)};
        fixture_path(fixture, name, paths[i]);
        children[i] = child_listening(paths[i]);
        start_as(fixture, (uint64_t)i + 1, children[i], 1000, paths[i]);
    }
    fixture_turn(fixture);
    assert_counts(fixture, PART, SILENT - PART);
    start_as(fixture, 20, getpid(), 1001, port.path);
    fixture_wait(fixture, 1);
    assert_int_equal(fixture->results[0].probed.serial, 20);
    probe_cancel(fixture->pool, 1);
    fixture_turn(fixture);
    assert_counts(fixture, PART, SILENT - PART - 1);

    fixture_new_pool(fixture, PLACES);
    for (int i = 0; i < SILENT; i++)
        start(fixture, (uint64_t)i + 1, children[i], paths[i]);
    fixture_turn(fixture);
    fixture_turn(fixture);
    assert_counts(fixture, PLACES, SILENT - PLACES);
    start_as(fixture, 20, getpid(), 1001, port.path);
    probe_cancel(fixture->pool, 1);
    probe_cancel(fixture->pool, 2);
    fixture_wait(fixture, 2);
    assert_int_equal(fixture->results[1].probed.serial, 20);
    assert_counts(fixture, PLACES, 0);
    for (int i = 0; i < SILENT; i++)
        end_child(children[i]);
    fake_port_done(&port);
}

static void on_first_result(Fixture *fixture, const Input *input) {
    if (input->probed.serial != 1)
        return;
    probe_cancel(fixture->pool, 1);
    probe_cancel(fixture->pool, 2);
    probe_cancel(fixture->pool, 3);
    start(fixture, 1, getpid(), fixture->folder);
}

// From within the callback: cancel itself, one that runs, one that waits; start again.
static void test_callback(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    char path[SOCKET_PATH_SIZE];
    fixture_path(fixture, "silent", path);
    pid_t child = child_listening(path);
    fixture->on_result = on_first_result;
    start(fixture, 2, child, path);
    start(fixture, 1, getpid(), port.path);
    start(fixture, 3, getpid(), port.path);
    start(fixture, 4, getpid(), port.path);
    while (fixture->results_count == 0)
        assert_true(sd_event_run(fixture->event, UINT64_MAX) >= 0);
    fixture->on_result = NULL;
    fixture_wait(fixture, 3);
    assert_int_equal(fixture->results[1].probed.serial, 4);
    assert_int_equal(fixture->results[2].probed.serial, 1);
    assert_counts(fixture, 0, 0);
    end_child(child);
    fake_port_done(&port);
}

static void on_result_free(Fixture *fixture, const Input *input) {
    (void)input;
    probe_pool_free(fixture->pool);
    fixture->pool = NULL;
}

// It may even be the end of the pool, whether the result came at once or later.
static void test_freed_in_callback(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    fixture->on_result = on_result_free;
    start(fixture, 1, getpid(), port.path);
    start(fixture, 2, getpid(), port.path);
    fixture_wait(fixture, 1);

    fixture_new_pool(fixture, 1);
    ProcessKey gone = key_of(getpid());
    gone.start_ticks++;
    assert_int_equal(probe_start(fixture->pool, 1,
                                 &(ProbeTarget){.key = gone, .uid = 0, .socket_hint = port.path}),
                     0);
    start(fixture, 2, getpid(), port.path);
    fixture_wait(fixture, 2);
    fixture->on_result = NULL;
    fake_port_done(&port);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_places, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_one_at_a_time, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_uids, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_callback, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_freed_in_callback, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
