// Attempts whose look blocks: the linker puts the fake look below in place of the real one, which
// waits before it looks at the processes that the test names.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "bounds.h"
#include "fake_look.h"
#include "fake_port.h"

#define NAME "dotnet-diagnostic-1-2-socket"

enum { HOSTILE_FROM = 1 << 23 }; // pids that no process has

// Semaphores: one for each fake look that may go on, one for each that has begun, one for each held
// look at a real process that has ended.
static int gate, begun, ended;
// Where looks at real processes are held.
static atomic_bool holds_look, holds_path;

static void hold(void) {
    eventfd_t taken;
    (void)eventfd_write(begun, 1);
    (void)eventfd_read(gate, &taken);
}

void __wrap_look_run(Look *look) {
    bool held = atomic_load(&holds_look) || atomic_load(&holds_path);
    if (look->target.key.pid >= HOSTILE_FROM || atomic_load(&holds_look))
        hold();
    __real_look_run(look);
    if (held)
        (void)eventfd_write(ended, 1);
}

int __wrap_socket_path_open(const Target *target, const char *path, int *ret, Failure *failure) {
    if (atomic_load(&holds_path))
        hold();
    return __real_socket_path_open(target, path, ret, failure);
}

static int set_up(void **state) {
    int r = fixture_setup(state);
    if (r == 0)
        fixture_new_pool(*state, BOUND_PROBES);
    return r;
}

static void start_hostile(Fixture *fixture, uint64_t serial, uid_t uid) {
    ProbeTarget target = {
        .key = {.pid = HOSTILE_FROM + (pid_t)serial, .start_ticks = 1},
        .uid = uid,
        .socket_hint = "",
    };
    assert_int_equal(probe_start(fixture->pool, serial, &target), 0);
}

static void await_begun(Fixture *fixture, unsigned count) {
    eventfd_t taken;
    fixture_turn(fixture);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(eventfd_read(begun, &taken), 0);
}

static const Input *last_result(const Fixture *fixture) {
    return &fixture->results[fixture->results_count - 1];
}

// Until nothing waits any more, and no thread is left of it.
static void let_go(Fixture *fixture, unsigned count) {
    assert_int_equal(eventfd_write(gate, count), 0);
    uint64_t end = instant_now().boottime_us + 5 * USEC_PER_SEC;
    while (probe_counters(fixture->pool)->stuck > 0) {
        assert_true(sd_event_run(fixture->event, USEC_PER_SEC) >= 0); // woken by each end
        assert_true(instant_now().boottime_us < end);
    }
}

static void start_good(Fixture *fixture, uint64_t serial, uid_t uid, const FakePort *port) {
    ProbeTarget target = {.key = key_of(getpid()), .uid = uid, .socket_hint = port->path};
    assert_int_equal(probe_start(fixture->pool, serial, &target), 0);
}

static void ends_with_timeout_and_others_go_on(void **state) {
    Fixture *fixture = *state;
    enum { STUCK = BOUND_LOOKS_STUCK_PER_UID };
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    for (uint64_t serial = 1; serial <= STUCK; serial++)
        start_hostile(fixture, serial, 1000);
    await_begun(fixture, STUCK);
    assert_int_equal(probe_counters(fixture->pool)->stuck, 0);

    // The same user, another, root: before the deadline of those that block.
    for (uint64_t i = 0; i < 3; i++) {
        static const uid_t uids[] = {1000, 1001, 0};
        start_good(fixture, 100 + i, uids[i], &port);
        fixture_wait(fixture, i + 1);
        assert_int_equal(last_result(fixture)->probed.outcome, OUTCOME_ANSWERED);
    }

    fixture_wait(fixture, 3 + STUCK);
    for (size_t i = 3; i < 3 + STUCK; i++) {
        assert_int_equal(fixture->results[i].probed.outcome, OUTCOME_TIMEOUT);
        assert_detail(&fixture->results[i], "a look at the process blocks in the kernel");
        assert_null(fixture->results[i].probed.facts);
    }
    assert_int_equal(probe_counters(fixture->pool)->stuck, STUCK);

    // That user has had his; he waits no more, and takes no thread more.
    start_hostile(fixture, 300, 1002);
    await_begun(fixture, 1);
    start_good(fixture, 200, 1000, &port);
    fixture_wait(fixture, 4 + STUCK);
    assert_int_equal(last_result(fixture)->probed.outcome, OUTCOME_TIMEOUT);
    assert_detail(last_result(fixture), "not looked at");
    start_good(fixture, 201, 1001, &port);
    fixture_wait(fixture, 5 + STUCK);
    assert_int_equal(last_result(fixture)->probed.outcome, OUTCOME_ANSWERED);
    probe_cancel(fixture->pool, 300);

    let_go(fixture, STUCK + 1);
    start_good(fixture, 202, 1000, &port);
    fixture_wait(fixture, 6 + STUCK);
    assert_int_equal(last_result(fixture)->probed.outcome, OUTCOME_ANSWERED);
    fake_port_done(&port);
}

// Cancelled in a look, and before one.
static void is_cancelled(void **state) {
    Fixture *fixture = *state;
    for (uint64_t serial = 1; serial <= BOUND_LOOKS_PER_UID + 2; serial++)
        start_hostile(fixture, serial, 1000);
    await_begun(fixture, BOUND_LOOKS_PER_UID);
    for (uint64_t serial = 1; serial <= BOUND_LOOKS_PER_UID + 2; serial++)
        probe_cancel(fixture->pool, serial);
    assert_int_equal(probe_counters(fixture->pool)->in_flight, 0);
    fixture_turn(fixture);
    assert_int_equal(fixture->results_count, 0);
    assert_int_equal(eventfd_write(gate, BOUND_LOOKS_PER_UID), 0);
}

// A look that comes loose after it was let go of connects to nothing, wherever it was held.
static void asks_nothing_afterwards(void **state) {
    Fixture *fixture = *state;
    atomic_bool *const holds[] = {&holds_look, &holds_path};
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    for (uint64_t i = 0; i < 2; i++) {
        eventfd_t taken;
        atomic_store(holds[i], true);
        start_good(fixture, 1 + i, 1000, &port);
        await_begun(fixture, 1);
        probe_cancel(fixture->pool, 1 + i);
        assert_int_equal(eventfd_write(gate, 1), 0);
        assert_int_equal(eventfd_read(ended, &taken), 0);
        atomic_store(holds[i], false);
        fixture_turn(fixture);
        assert_int_equal(port.connections_count, 0);
    }
    start_good(fixture, 9, 1000, &port);
    fixture_wait(fixture, 1);
    assert_int_equal(last_result(fixture)->probed.outcome, OUTCOME_ANSWERED);
    assert_int_equal(port.connections_count, 1);
    fake_port_done(&port);
}

// The process may never have had a turn, because of others of its user.
static void has_no_turn(void **state) {
    Fixture *fixture = *state;
    for (uint64_t serial = 1; serial <= BOUND_LOOKS_PER_UID + 1; serial++)
        start_hostile(fixture, serial, 1000);
    await_begun(fixture, BOUND_LOOKS_PER_UID);
    fixture_wait(fixture, BOUND_LOOKS_PER_UID + 1);
    size_t without = 0;
    for (size_t i = 0; i < fixture->results_count; i++) {
        assert_int_equal(fixture->results[i].probed.outcome, OUTCOME_TIMEOUT);
        without += strstr(fixture->results[i].probed.detail, "not looked at, since") != NULL;
    }
    assert_int_equal(without, 1);
    let_go(fixture, BOUND_LOOKS_PER_UID);
}

static void the_pool_ends_meanwhile(void **state) {
    Fixture *fixture = *state;
    start_hostile(fixture, 1, 1000);
    start_hostile(fixture, 2, 0);
    await_begun(fixture, 2);
    probe_pool_free(fixture->pool); // would never return
    fixture->pool = NULL;
    assert_int_equal(fixture->results_count, 0);
    assert_int_equal(eventfd_write(gate, 2), 0);
}

// At last: these stay until the test ends, as those of a daemon do that is told to end.
static void the_process_ends_meanwhile(void **state) {
    Fixture *fixture = *state;
    start_hostile(fixture, 1, 1000);
    await_begun(fixture, 1);
    probe_pool_free(fixture->pool);
    fixture->pool = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_teardown)

int main(void) {
    // Never closed: a thread may wait there to the end.
    gate = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    begun = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    ended = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    assert_true(gate >= 0 && begun >= 0 && ended >= 0);
    const struct CMUnitTest tests[] = {
        TEST(ends_with_timeout_and_others_go_on),
        TEST(is_cancelled),
        TEST(asks_nothing_afterwards),
        TEST(has_no_turn),
        TEST(the_pool_ends_meanwhile),
        TEST(the_process_ends_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
