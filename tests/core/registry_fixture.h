// A registry, what it asked for last, and the time: for tests of the registry.
// SPDX-License-Identifier: MIT
#pragma once

#include "cmocka_all.h"

#include <string.h>

#include "registry.h"
#include "samples.h"

typedef struct Fixture {
    Registry *registry;
    Actions actions;
    uint64_t now;
} Fixture;

static inline int set_up(void **state) {
    static Fixture fixture;
    RegistryLimits limits = {.processes = 16, .processes_per_uid = 4};
    fixture = (Fixture){.now = T0};
    *state = &fixture;
    return registry_new(&limits, &fixture.registry);
}

static inline int tear_down(void **state) {
    Fixture *f = *state;
    actions_done(&f->actions);
    registry_free(f->registry);
    return 0;
}

static inline void feed(Fixture *f, Input input) {
    actions_clear(&f->actions);
    assert_int_equal(registry_feed(f->registry, &input, at(f->now), &f->actions), 0);
}

static inline void feed_signal(Fixture *f, Signal signal) {
    feed(f, (Input){.kind = INPUT_SIGNAL, .signal = signal});
}

static inline void feed_probed(Fixture *f, uint64_t serial, Outcome outcome, const char *detail) {
    feed(f, (Input){.kind = INPUT_PROBED,
                    .probed = {.serial = serial,
                               .outcome = outcome,
                               .detail = detail ? strdup(detail) : NULL,
                               .facts = facts_new()}});
}

static inline void feed_exec(Fixture *f, pid_t pid, uint64_t start, uint64_t exec_count) {
    feed(f, (Input){.kind = INPUT_EXEC, .exec = {pid, start, exec_count}});
}

static inline void feed_timer(Fixture *f) {
    feed(f, (Input){.kind = INPUT_TIMER});
}

// The kinds of the actions, in order: "follow probe publish".
static inline void assert_actions(const Fixture *f, const char *expected) {
    static const char *const names[] = {
        [ACTION_FOLLOW] = "follow",       [ACTION_UNFOLLOW] = "unfollow",
        [ACTION_PROBE] = "probe",         [ACTION_CANCEL] = "cancel",
        [ACTION_PUBLISH] = "publish",     [ACTION_RESCAN] = "rescan",
        [ACTION_DISREGARD] = "disregard",
    };
    char got[256] = "";
    for (size_t i = 0; i < f->actions.count; i++) {
        if (i > 0)
            strcat(got, " ");
        strcat(got, names[f->actions.items[i].kind]);
    }
    assert_string_equal(got, expected);
}

static inline void assert_state(const Fixture *f, pid_t pid, State state, Reason reason) {
    const Process *process = registry_find_pid(f->registry, pid);
    assert_non_null(process);
    assert_int_equal(process->traits.state, state);
    assert_int_equal(process->reason, reason);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
