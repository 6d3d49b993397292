// Collects inputs by pid: other processes of the machine may be seen at the same time.
// SPDX-License-Identifier: MIT
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bounds.h"
#include "cleanup.h"
#include "discovery_names.h"
#include "macro.h"
#include "procfs.h"
#include "procfs_text.h"

static void on_input(void *userdata, Input *input) {
    Harness *harness = userdata;
    if (harness->count == harness->capacity) {
        harness->capacity = harness->capacity ? 2 * harness->capacity : 64;
        harness->inputs = reallocarray(harness->inputs, harness->capacity, sizeof *harness->inputs);
        MUST(harness->inputs != NULL);
    }
    harness->inputs[harness->count++] = *input;
}

MechanismId harness_mechanism(void) {
    MechanismId mechanism = MECHANISM_AUTO;
    const char *name = getenv("DISCOVERY_MECHANISM");
    MUST(!name || mechanism_from_string(name, &mechanism));
    return mechanism;
}

void harness_init(Harness *harness, const bool without[PROGRAM_COUNT_]) {
    harness_init_by(harness, harness_mechanism(), without);
}

void harness_init_by(Harness *harness, MechanismId mechanism, const bool without[PROGRAM_COUNT_]) {
    *harness = (Harness){0};
    SourceOptions options = {
        .processes = BOUND_PROCESSES,
        .ring_bytes = BOUND_RING_BYTES,
        .mechanism = mechanism,
    };
    for (ProgramId id = 0; without && id < PROGRAM_COUNT_; id++)
        options.without[id] = without[id];
    MUST(sd_event_new(&harness->event) >= 0);
    MUST(source_new(harness->event, &options, on_input, harness, &harness->source) == 0);
    MUST(source_attach(harness->source) == 0);
}

void harness_done(Harness *harness) {
    source_free(harness->source);
    sd_event_unref(harness->event);
    free(harness->inputs);
}

static const Input *last(const Harness *harness, InputKind input, SignalKind kind, pid_t pid,
                         size_t *ret_count) {
    const Input *found = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < harness->count; i++) {
        const Input *candidate = &harness->inputs[i];
        if (candidate->kind != input)
            continue;
        if (input == INPUT_SIGNAL &&
            (candidate->signal.kind != kind || candidate->signal.key.pid != pid))
            continue;
        if (input == INPUT_EXEC && candidate->exec.pid != pid)
            continue;
        found = candidate;
        ++*ret_count;
    }
    return found;
}

size_t harness_signals(const Harness *harness, SignalKind kind, pid_t pid) {
    size_t count;
    last(harness, INPUT_SIGNAL, kind, pid, &count);
    return count;
}

size_t harness_execs(const Harness *harness, pid_t pid) {
    size_t count;
    last(harness, INPUT_EXEC, SIGNAL_MAPPING, pid, &count);
    return count;
}

size_t harness_exits(const Harness *harness, uint64_t serial) {
    size_t count = 0;
    for (size_t i = 0; i < harness->count; i++)
        if (harness->inputs[i].kind == INPUT_EXIT && harness->inputs[i].exit.serial == serial)
            count++;
    return count;
}

bool harness_has_two_mappings(const Harness *harness, const void *pid) {
    return harness_signals(harness, SIGNAL_MAPPING, *(const pid_t *)pid) == 2;
}

bool harness_has_exit(const Harness *harness, const void *serial) {
    return harness_exits(harness, *(const uint64_t *)serial) > 0;
}

const Signal *harness_signal(const Harness *harness, SignalKind kind, pid_t pid) {
    size_t count;
    const Input *input = last(harness, INPUT_SIGNAL, kind, pid, &count);
    MUST(input != NULL);
    return &input->signal;
}

const ProcessKey *harness_exec(const Harness *harness, pid_t pid) {
    size_t count;
    const Input *input = last(harness, INPUT_EXEC, SIGNAL_MAPPING, pid, &count);
    MUST(input != NULL);
    return &input->exec;
}

void harness_run(Harness *harness, HarnessDone done, const void *argument) {
    uint64_t deadline = instant_now().boottime_us + 20 * USEC_PER_SEC;
    while (!done(harness, argument)) {
        MUST(instant_now().boottime_us < deadline);
        MUST(sd_event_run(harness->event, 100 * USEC_PER_MSEC) >= 0);
    }
}

static bool has_mapping(const Harness *harness, const void *pid) {
    return harness_signals(harness, SIGNAL_MAPPING, *(const pid_t *)pid) > 0;
}

void harness_await_mapping(Harness *harness, pid_t pid) {
    harness_run(harness, has_mapping, &pid);
}

static bool has_listen(const Harness *harness, const void *pid) {
    return harness_signals(harness, SIGNAL_LISTEN, *(const pid_t *)pid) > 0;
}

void harness_await_listen(Harness *harness, pid_t pid) {
    harness_run(harness, has_listen, &pid);
}

static void fence(__attribute__((unused)) int control,
                  __attribute__((unused)) const void *argument) {
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

void harness_fence(Harness *harness) {
    Child child = child_start(fence, NULL);
    harness_await_mapping(harness, child.pid);
    child_end(&child);
}

uint64_t start_ticks_of(pid_t pid) {
    _cleanup_close_ int directory = -1;
    char text[1024];
    size_t size;
    uint64_t ticks = 0;
    MUST(procfs_open(pid, &directory) == 0);
    MUST(procfs_read(directory, "stat", text, sizeof text, &size) == 0);
    MUST(procfs_text_start_ticks(text, &ticks) == 0);
    return ticks;
}

int harness_setup(void **state) {
    Harness *harness = malloc(sizeof *harness);
    MUST(harness != NULL);
    harness_init(harness, NULL);
    *state = harness;
    return 0;
}

int harness_teardown(void **state) {
    harness_done(*state);
    free(*state);
    return 0;
}

// By what the daemon says that can be done, or that nothing can. The number of an error would not
// do: EACCES is also what the kernel's checks say of a program that is wrong.
static bool says_withheld(const char *detail) {
    static const char *const sentences[] = {
        "run as root",
        "run it outside of a user namespace",
        "the kernel is locked down",
        "LimitMEMLOCK=infinity",
        "does not permit it whatever the privileges",
        "use a kernel with",
        "use one with",
        "cannot do it on this architecture",
        "tracefs is not mounted",
        "hands other arguments to programs",
    };
    for (size_t i = 0; i < ELEMENTS_OF(sentences); i++)
        if (strstr(detail, sentences[i]))
            return true;
    return false;
}

bool harness_is_withheld(const Mechanism *mechanism) {
    return mechanism->detail && says_withheld(mechanism->detail);
}

static void leave(bool withheld, const char *name, const char *why) {
    printf("%s: %s: %s.\n", withheld ? "Skipped" : "Failed", name, why);
    exit(withheld ? 77 : EXIT_FAILURE);
}

// Only what the machine withholds is a reason to skip; any other refusal is a fault of ours. So is
// one of a better mechanism than the one in use.
void harness_skip_unless_privileged(void) {
    Harness harness;
    harness_init(&harness, NULL);
    const Mechanism *mechanisms = source_mechanisms(harness.source);
    const MechanismId wanted = harness_mechanism(), used = source_mechanism(harness.source);
    for (MechanismId id = 0; id < used; id++) {
        bool withheld = harness_is_withheld(&mechanisms[id]);
        if ((wanted == MECHANISM_AUTO && !withheld) || wanted == id)
            leave(withheld, mechanisms[id].name, mechanisms[id].detail);
    }
    const Program *programs = source_programs(harness.source);
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++)
        if (!programs[id].attached)
            leave(used >= MECHANISM_PERF || says_withheld(programs[id].detail), programs[id].name,
                  programs[id].detail);
    harness_done(&harness);
}
