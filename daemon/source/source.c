// Owns the parts and joins them: the kernel side and its ring buffer, the scanner, the follower.
// What could not be had from the kernel is told as a missing program; whatever is left works.
// SPDX-License-Identifier: MIT
#include "source.h"

#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "context.h"
#include "follow.h"
#include "ladder.h"
#include "perf.h"
#include "programs.h"
#include "ring.h"
#include "scanner.h"

struct Source {
    Context context;
    Ring ring;
    Ladder ladder;
    Scanner scanner;
    Follower follower;
};

DEFINE_CLEANUP(Source *, source_free);

static int on_loss(void *userdata) {
    return source_rescan(userdata);
}

size_t source_descriptors(void) {
    return PERF_DESCRIPTORS_PER_CPU * kernel_cpus();
}

int source_new(sd_event *event, const SourceOptions *options, SourceInput input, void *userdata,
               Source **ret) {
    _cleanup_(source_freep) Source *source = calloc(1, sizeof *source);
    if (!source)
        return -ENOMEM;
    source->context = (Context){
        .event = sd_event_ref(event),
        .input = input,
        .userdata = userdata,
        .clocks = clocks_of_daemon(),
        .options = *options,
    };
    int r = scanner_init(&source->scanner, &source->context);
    if (r >= 0)
        r = programs_init(source->context.programs, options->without);
    if (r >= 0)
        r = kernel_init(&source->context.kernel, &source->context.options,
                        source->context.programs);
    if (r >= 0)
        r = ring_init(&source->ring, &source->context, options->ring_bytes, on_loss, source);
    ladder_init(&source->ladder, &source->context, &source->ring, on_loss, source);
    if (r >= 0)
        r = follower_init(&source->follower, &source->context);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(source);
    return 0;
}

void source_free(Source *source) {
    if (!source)
        return;
    follower_done(&source->follower);
    scanner_done(&source->scanner);
    ladder_done(&source->ladder);
    ring_done(&source->ring);
    kernel_done(&source->context.kernel);
    programs_done(source->context.programs);
    sd_event_unref(source->context.event);
    free(source);
}

int source_scan(Source *source) {
    int r = scanner_run(&source->scanner);
    ladder_drain(&source->ladder);
    return r;
}

int source_rescan(Source *source) {
    return scanner_request(&source->scanner);
}

int source_follow(Source *source, uint64_t serial, const ProcessKey *key) {
    int r = follower_add(&source->follower, serial, key);
    // The entry may be missing: the map was full, or an earlier life of the pid has just been
    // forgotten.
    if (r == FOLLOW_OK)
        ladder_remember(&source->ladder, key);
    else
        ladder_forget(&source->ladder, key->pid, key->exec_count);
    return r;
}

void source_unfollow(Source *source, uint64_t serial, const ProcessKey *key) {
    follower_remove(&source->follower, serial);
    ladder_forget(&source->ladder, key->pid, key->exec_count);
}

void source_disregard(Source *source, pid_t pid) {
    ladder_forget(&source->ladder, pid, EXEC_COUNT_UNKNOWN);
}

static void refresh(void *userdata) {
    ladder_refresh(userdata);
}

int source_attach(Source *source) {
    int r = ladder_attach(&source->ladder);
    if (r >= 0 && ladder_needs_scans(&source->ladder))
        scanner_repeat(&source->scanner, refresh, &source->ladder);
    return r;
}

const Mechanism *source_mechanisms(const Source *source) {
    return source->ladder.mechanisms;
}

MechanismId source_mechanism(const Source *source) {
    return source->ladder.used;
}

uint64_t source_scan_interval_us(const Source *source) {
    return scanner_interval_us(&source->scanner);
}

const Program *source_programs(const Source *source) {
    return source->context.programs;
}

const SourceCounters *source_counters(const Source *source) {
    return &source->context.counters;
}
