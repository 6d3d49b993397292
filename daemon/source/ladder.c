// What a kernel refuses, for want of a feature, of privileges or by a vendor's choice, leads to the
// next step and becomes a sentence; so does what attaches and does not tell. The scan is left where
// nothing else is: it needs nothing from the kernel but /proc.
// SPDX-License-Identifier: MIT
#include "ladder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "cleanup.h"
#include "log.h"
#include "programs.h"
#include "refusal.h"

typedef enum StepResult {
    STEP_PASSED,
    STEP_REFUSED, // why is told
} StepResult;

void ladder_init(Ladder *ladder, Context *context, Ring *ring, LadderLoss loss, void *userdata) {
    *ladder = (Ladder){
        .context = context,
        .ring = ring,
        .loss = loss,
        .userdata = userdata,
        .used = MECHANISM_SCAN,
    };
    for (MechanismId id = 0; id < MECHANISM_COUNT_; id++) {
        ladder->mechanisms[id].name = mechanism_to_string(id);
        ladder->mechanisms[id].cost = mechanism_cost(id);
    }
}

void ladder_done(Ladder *ladder) {
    hooks_done(&ladder->hooks);
    perf_done(&ladder->perf);
    for (MechanismId id = 0; id < MECHANISM_COUNT_; id++)
        free(ladder->mechanisms[id].detail);
}

static const bool *without(const Ladder *ladder) {
    return ladder->context->options.without;
}

__attribute__((format(printf, 3, 4))) static int refuse(Ladder *ladder, MechanismId id,
                                                        const char *format, ...) {
    Mechanism *mechanism = &ladder->mechanisms[id];
    va_list args;
    va_start(args, format);
    int n = vasprintf(&mechanism->detail, format, args);
    va_end(args);
    if (n < 0) {
        mechanism->detail = NULL;
        return -ENOMEM;
    }
    log_debug("The mechanism %s is not used: %s.", mechanism->name, mechanism->detail);
    return STEP_REFUSED;
}

// Records of others that come meanwhile become inputs as they always do.
static int await_own(Ladder *ladder, MechanismId id, bool mapping, bool listen) {
    const SelfTest *test = &ladder->context->self_test;
    const uint64_t deadline_us =
        instant_now().boottime_us + BOUND_SELF_TEST_MS * (uint64_t)USEC_PER_MSEC;
    for (bool again = false;;) {
        if (id == MECHANISM_PERF)
            perf_drain(&ladder->perf);
        else
            ring_drain(ladder->ring);
        if (test->mapping >= mapping && test->listen >= listen)
            return 0;
        if (again)
            (void)self_test_act();
        uint64_t now_us = instant_now().boottime_us;
        if (now_us >= deadline_us)
            return 0;
        int rest_ms = (int)((deadline_us - now_us + USEC_PER_MSEC - 1) / USEC_PER_MSEC);
        int r = id == MECHANISM_PERF ? perf_wait(&ladder->perf, rest_ms)
                                     : ring_wait(ladder->ring, rest_ms);
        if (r < 0)
            return r;
        // The records of a busy host, or of whoever storms it, may have left no room for ours.
        again = true;
    }
}

static int test_step(Ladder *ladder, MechanismId id) {
    const SelfTest *test = &ladder->context->self_test;
    const bool mapping = !without(ladder)[PROGRAM_MAPPING],
               listen = !without(ladder)[PROGRAM_LISTEN] && id != MECHANISM_PERF;
    // What the mechanism before was told too late is no proof of this one.
    ring_drain(ladder->ring);
    int r = self_test_begin(&ladder->context->self_test);
    if (r < 0)
        return refuse(ladder, id,
                      "it could not be tested (%s): the daemon can map and listen at "
                      "nothing itself",
                      refusal_name(r));
    r = await_own(ladder, id, mapping, listen);
    if (r < 0)
        return r;
    const char *missing = test->mapping < mapping && test->listen < listen
                              ? "mapping and its own listening socket"
                          : test->mapping < mapping ? "mapping"
                          : test->listen < listen   ? "listening socket"
                                                    : NULL;
    if (missing)
        return refuse(ladder, id,
                      "attached, but the daemon was not told of its own %s within %d "
                      "ms: this kernel does not call it",
                      missing, BOUND_SELF_TEST_MS);
    return STEP_PASSED;
}

static int attach_perf(Ladder *ladder) {
    const Context *context = ladder->context;
    if (without(ladder)[PROGRAM_MAPPING])
        return refuse(ladder, MECHANISM_PERF,
                      "it tells of mappings, which are left out on request");
    const bool exec = !context->programs[PROGRAM_EXEC].attached && !without(ladder)[PROGRAM_EXEC];
    int error = perf_init(&ladder->perf, ladder->context, context->options.ring_bytes, exec,
                          ladder->loss, ladder->userdata);
    if (error < 0)
        return refuse(ladder, MECHANISM_PERF, "perf cannot be had (%s): %s", refusal_name(error),
                      refusal_remedy_of_perf(error));
    return STEP_PASSED;
}

static int attach_hooks(Ladder *ladder, MechanismId id) {
    _cleanup_free_ char *why = NULL;
    int r = hooks_attach(&ladder->hooks, &ladder->context->kernel, id, &why);
    return r == HOOKS_REFUSED ? refuse(ladder, id, "%s", why) : r;
}

static int try_step(Ladder *ladder, MechanismId id) {
    int r = id == MECHANISM_PERF ? attach_perf(ladder) : attach_hooks(ladder, id);
    if (r == STEP_PASSED)
        r = test_step(ladder, id);
    if (r != STEP_PASSED) {
        hooks_done(&ladder->hooks);
        perf_done(&ladder->perf);
    }
    return r;
}

static void name_program(Ladder *ladder, ProgramId id, const char *kind) {
    if (*kind)
        programs_have(ladder->context->programs, id, kind);
}

static int tell_programs(Ladder *ladder) {
    Program *programs = ladder->context->programs;
    if (ladder->used == MECHANISM_PERF) {
        name_program(ladder, PROGRAM_MAPPING, "perf mmap records");
        if (ladder->perf.exec)
            name_program(ladder, PROGRAM_EXEC, "perf comm records");
    } else {
        name_program(ladder, PROGRAM_MAPPING, ladder->hooks.mapping);
        name_program(ladder, PROGRAM_LISTEN, ladder->hooks.listen);
    }
    int r = 0;
    for (ProgramId id = PROGRAM_MAPPING; r == 0 && id <= PROGRAM_LISTEN; id++)
        if (!programs[id].attached && !without(ladder)[id])
            r = programs_miss(programs, id, "missing, since the mechanism %s has none",
                              ladder->mechanisms[ladder->used].name);
    return r;
}

// Those before the one that is used, as far as they were not tried.
static int tell_untried(Ladder *ladder, const char *why) {
    int r = 0;
    for (MechanismId id = 0; r >= 0 && id < ladder->used; id++)
        if (!ladder->mechanisms[id].detail)
            r = refuse(ladder, id, "not tried: %s", why);
    return r < 0 ? r : 0;
}

int ladder_attach(Ladder *ladder) {
    const MechanismId wanted = ladder->context->options.mechanism;
    const bool nothing = without(ladder)[PROGRAM_MAPPING] && without(ladder)[PROGRAM_LISTEN];
    for (MechanismId id = 0; id < MECHANISM_SCAN && !nothing; id++) {
        if (wanted != MECHANISM_AUTO && wanted != id)
            continue;
        int r = try_step(ladder, id);
        if (r < 0)
            return r;
        if (r == STEP_PASSED) {
            ladder->used = id;
            break;
        }
    }
    ladder->mechanisms[ladder->used].used = true;
    int r = tell_untried(ladder, nothing ? "mapping and listen are left out on request"
                                         : "another mechanism was asked for by its name");
    if (r == 0)
        r = tell_programs(ladder);
    return r;
}

bool ladder_needs_scans(const Ladder *ladder) {
    return ladder->used == MECHANISM_PERF || ladder->used == MECHANISM_SCAN;
}

void ladder_refresh(Ladder *ladder) {
    if (ladder->used == MECHANISM_PERF)
        perf_refresh(&ladder->perf);
}

void ladder_drain(Ladder *ladder) {
    if (ladder->used == MECHANISM_PERF)
        perf_drain(&ladder->perf);
    ring_drain(ladder->ring);
}

void ladder_remember(Ladder *ladder, const ProcessKey *key) {
    kernel_remember(&ladder->context->kernel, key);
    perf_follow(&ladder->perf, key);
}

void ladder_forget(Ladder *ladder, pid_t pid, uint64_t exec_count) {
    kernel_forget(&ladder->context->kernel, pid, exec_count);
    perf_unfollow(&ladder->perf, pid);
}
