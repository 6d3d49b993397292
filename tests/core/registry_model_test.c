// A long random course through the registry, held against a model that is as plain as the interface
// document: one record per pid, no heap, no index, no tables. The seed is printed; give one as the
// first argument to repeat a course.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "registry.h"
#include "samples.h"

enum { PIDS = 12, STEPS = 200000, LIMIT = 8, UID_LIMIT = 4 };
enum { OTHERS_LIMIT = LIMIT - LIMIT / BOUND_ROOT_DIVISOR };

typedef struct Model {
    bool alive;
    uint64_t serial, start, exec;
    uid_t uid;
    State state;
    Reason reason;
    uint64_t detected, last_sequence;
    bool followed, probing;
    bool named; // by the kernel, not only by a scan of /proc
} Model;

typedef struct Course {
    Registry *registry;
    Actions actions;
    Model pids[PIDS];
    uint64_t start_of[PIDS], exec_of[PIDS]; // the newest that the kernel could report
    uint64_t now, sequence, begun, ended, vanished, dropped, renamed;
} Course;

static unsigned long seed;

static unsigned pick(unsigned below) {
    return (unsigned)random() % below;
}

static size_t count_alive(const Course *c, bool of_uid, uid_t uid) {
    size_t count = 0;
    for (size_t i = 0; i < PIDS; i++)
        count += c->pids[i].alive && (!of_uid || c->pids[i].uid == uid);
    return count;
}

static size_t count_others(const Course *c) {
    return count_alive(c, false, 0) - count_alive(c, true, 0);
}

static void take_publish(Course *c, Model *m, const Action *action) {
    const Process *process = action->process;
    assert_int_equal(process->sequence, ++c->sequence);
    if (!action->has_before) {
        assert_true(!m->alive && m->followed && m->probing);
        assert_int_equal(process->serial, ++c->begun);
        assert_int_equal(process->serial, m->serial);
        *m = (Model){.alive = true,
                     .followed = true,
                     .probing = true,
                     .serial = process->serial,
                     .start = process->key.start_ticks,
                     .exec = process->key.exec_count,
                     .uid = process->traits.uid,
                     .detected = c->now};
        return;
    }
    assert_true(m->alive);
    assert_int_equal(m->serial, process->serial);
    assert_int_equal(action->before.state, m->state);
    assert_true(process->traits.state != STATE_DETECTED || m->state == STATE_DETECTED);
    assert_true(m->state != STATE_READY || process->traits.state != STATE_UNREACHABLE);
    assert_true((process->reason != REASON_NONE) == (process->traits.state == STATE_UNREACHABLE));
    m->state = process->traits.state;
    m->reason = process->reason;
    if (m->state == STATE_GONE) {
        m->alive = false;
        c->ended++;
    }
}

static void take_action(Course *c, const Action *action) {
    Model *m = &c->pids[action->key.pid % PIDS];
    switch (action->kind) {
    case ACTION_PUBLISH:
        take_publish(c, m, action);
        break;
    case ACTION_FOLLOW:
        // A life begins with that, and is told last.
        assert_true(!m->alive && !m->followed);
        *m = (Model){.followed = true, .serial = action->serial};
        break;
    case ACTION_UNFOLLOW:
        assert_true(!m->alive && m->followed && m->serial == action->serial);
        m->followed = false;
        break;
    case ACTION_PROBE:
        assert_true(m->followed && !m->probing && m->state != STATE_READY);
        m->probing = true;
        break;
    case ACTION_CANCEL:
        assert_true(!m->alive && m->probing && m->serial == action->serial);
        m->probing = false;
        break;
    case ACTION_DISREGARD:
        assert_false(m->alive);
        assert_true(count_alive(c, false, 0) == LIMIT || count_others(c) == OTHERS_LIMIT ||
                    count_alive(c, true, 1) == UID_LIMIT || count_alive(c, true, 2) == UID_LIMIT);
        break;
    case ACTION_RESCAN:
        assert_true(count_alive(c, false, 0) < LIMIT);
        break;
    }
}

static void feed(Course *c, Input input) {
    assert_int_equal(registry_feed(c->registry, &input, at(c->now), &c->actions), 0);
    for (size_t i = 0; i < c->actions.count; i++)
        take_action(c, &c->actions.items[i]);
    actions_clear(&c->actions);
}

static void step_signal(Course *c, size_t i) {
    Signal signal = sample_signal((pid_t)(i + PIDS), c->start_of[i], c->exec_of[i]);
    signal.kind = (SignalKind)pick(SIGNAL_KIND_COUNT_);
    signal.uid = (uid_t)(i % 3);
    signal.seen = at(c->now);
    if (signal.kind == SIGNAL_LISTEN || pick(4) == 0)
        signal.protection = PROTECTION_UNKNOWN;
    if (pick(8) == 0 && signal.key.start_ticks > 0) // late, perhaps too late
        signal.key.start_ticks--;

    if (signal.kind == SIGNAL_SCAN && pick(2))
        signal.key.exec_count = EXEC_COUNT_UNKNOWN;
    bool by_kernel = signal.key.exec_count != EXEC_COUNT_UNKNOWN;

    Model before = c->pids[i];
    uint64_t stale = registry_counters(c->registry)->signals_stale;
    feed(c, (Input){.kind = INPUT_SIGNAL, .signal = signal});
    Model *after = &c->pids[i];
    if (registry_counters(c->registry)->signals_stale > stale) { // its life has ended already
        assert_memory_equal(after, &before, sizeof before);
        return;
    }
    bool newer = signal.key.start_ticks > before.start ||
                 (signal.key.start_ticks == before.start && by_kernel &&
                  before.exec != EXEC_COUNT_UNKNOWN && signal.key.exec_count > before.exec);
    if (before.alive && newer)
        assert_true(!after->alive || after->serial > before.serial);
    else if (before.alive)
        assert_true(after->alive && after->serial == before.serial);
    if (by_kernel && after->alive) {
        c->renamed += after->exec == EXEC_COUNT_UNKNOWN;
        after->exec = signal.key.exec_count;
        after->named = true;
    }
}

static void step_outcome(Course *c, size_t i) {
    Model *m = &c->pids[i];
    if (!m->probing)
        return;
    Outcome outcome = (Outcome)pick(OUTCOME_COUNT_);
    Model before = *m;
    m->probing = false;
    feed(c, (Input){.kind = INPUT_PROBED,
                    .probed = {.serial = m->serial,
                               .outcome = outcome,
                               .detail = strdup(pick(2) ? "one" : "other"),
                               .facts = pick(2) ? facts_new() : NULL}});
    bool drops = outcome == OUTCOME_NOT_OWNER && !before.named;
    c->dropped += drops;
    c->vanished += outcome == OUTCOME_VANISHED;
    assert_int_equal(m->alive, !drops && outcome != OUTCOME_VANISHED);
    if (!m->alive)
        return;
    bool early =
        c->now < before.detected + SECOND &&
        (outcome == OUTCOME_NO_SOCKET || outcome == OUTCOME_REFUSED || outcome == OUTCOME_HUNG_UP);
    if (outcome == OUTCOME_ANSWERED)
        assert_int_equal(m->state, STATE_READY);
    else if (outcome == OUTCOME_NOT_TRIED || (early && before.state == STATE_DETECTED))
        assert_int_equal(m->state, before.state);
    else
        assert_int_equal(m->state, STATE_UNREACHABLE);
}

static void step(Course *c) {
    size_t i = pick(PIDS);
    Model *m = &c->pids[i];
    switch (pick(11)) {
    case 0: // the pid is used again, its old process having exited (told now, later or never)
        c->start_of[i] += 1 + pick(2);
        c->exec_of[i] = pick(3);
        break;
    case 1:
        c->exec_of[i]++;
        if (pick(2))
            feed(c, (Input){.kind = INPUT_EXEC,
                            .exec = {(pid_t)(i + PIDS), c->start_of[i], c->exec_of[i]}});
        break;
    case 2:
        feed(c, (Input){.kind = INPUT_EXIT, .exit = {m->serial, pick(2)}});
        assert_false(m->alive);
        break;
    case 3:
    case 4:
    case 5:
        step_signal(c, i);
        break;
    case 6:
    case 7:
    case 8:
        step_outcome(c, i);
        break;
    case 9:
        feed(c, (Input){.kind = INPUT_ASKED, .asked = m->serial});
        break;
    default:
        c->now += pick(2) ? pick(2000) : pick(3000000);
        feed(c, (Input){.kind = INPUT_TIMER});
        break;
    }
}

// Whoever is neither ready nor being asked is either waiting for its next attempt or has had the
// last one, 30 s after the signal.
static void check_registry(const Course *c) {
    size_t alive = count_alive(c, false, 0);
    assert_int_equal(registry_count(c->registry), alive);
    assert_true(alive <= LIMIT && count_others(c) <= OTHERS_LIMIT);
    assert_true(count_alive(c, true, 1) <= UID_LIMIT && count_alive(c, true, 2) <= UID_LIMIT);
    size_t seen = 0, in_state[STATE_COUNT_] = {0};
    for (const Process *p = NULL; (p = registry_next(c->registry, p ? p->serial : 0)); seen++) {
        const Model *m = &c->pids[p->traits.pid % PIDS];
        assert_true(m->alive && m->followed && m->serial == p->serial);
        assert_int_equal(m->state, p->traits.state);
        in_state[m->state]++;
        assert_int_equal(m->reason, p->reason);
        assert_true(m->exec == p->key.exec_count);
        assert_ptr_equal(registry_find(c->registry, p->serial), p);
        assert_ptr_equal(registry_find_pid(c->registry, p->traits.pid), p);
        if (m->state != STATE_READY && !m->probing && c->now < m->detected + 30 * SECOND)
            assert_true(registry_next_deadline(c->registry) != USEC_NEVER);
    }
    assert_int_equal(seen, alive);
    in_state[STATE_GONE] = c->ended;
    for (State state = 0; state < STATE_COUNT_; state++)
        assert_int_equal(registry_count_in(c->registry, state), in_state[state]);
    assert_int_equal(registry_counters(c->registry)->vanished, c->vanished);
    assert_int_equal(registry_counters(c->registry)->dropped_owners, c->dropped);
}

static void the_registry_agrees_with_the_model(void **state) {
    (void)state;
    Course course = {.now = T0};
    RegistryLimits limits = {.processes = LIMIT, .processes_per_uid = UID_LIMIT};
    assert_int_equal(registry_new(&limits, &course.registry), 0);
    for (size_t i = 0; i < STEPS; i++) {
        step(&course);
        check_registry(&course);
    }
    for (size_t i = 0; i < PIDS; i++)
        feed(&course, (Input){.kind = INPUT_EXIT, .exit.serial = course.pids[i].serial});
    check_registry(&course);
    assert_int_equal(registry_count(course.registry), 0);
    assert_int_equal(course.begun, course.ended);
    assert_true(course.begun > 1000 && course.dropped > 100 && course.renamed > 100);
    assert_true(registry_next_deadline(course.registry) == USEC_NEVER);
    actions_done(&course.actions);
    registry_free(course.registry);
}

int main(int argc, char *argv[]) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_registry_agrees_with_the_model)};
    seed = argc > 1 ? strtoul(argv[1], NULL, 0) : (unsigned long)time(NULL);
    printf("seed %lu\n", seed);
    srandom((unsigned)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
