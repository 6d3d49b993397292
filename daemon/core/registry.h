// The decisions: which processes there are, in what state, what to do next. Deterministic: the same
// inputs at the same times give the same actions. No descriptor, no clock, no log.
// SPDX-License-Identifier: MIT
#pragma once

#include "action.h"
#include "input.h"

typedef struct Registry Registry;

typedef struct RegistryLimits {
    size_t processes;         // followed at once; one part in BOUND_ROOT_DIVISOR is for uid 0 alone
    size_t processes_per_uid; // of one uid other than 0; UID_UNKNOWN counts as one uid
} RegistryLimits;

typedef struct RegistryCounters {
    uint64_t signals;        // taken or merged
    uint64_t signals_stale;  // of a life that had ended or of an older one
    uint64_t refused_full;   // signals not taken: registry full, or what is not root's alone
    uint64_t refused_quota;  // signals not taken: quota of the uid
    uint64_t execs;          // lives ended by execve
    uint64_t dropped_owners; // scanned candidates that did not own their socket
    uint64_t vanished;       // lives that an attempt found ended before anything else told
} RegistryCounters;

// -ENOMEM. The caller owns *ret.
int registry_new(const RegistryLimits *limits, Registry **ret);
void registry_free(Registry *registry);

// Takes one input at `now` and appends what is to be done to `actions`. Owns what the input owned
// afterwards, whatever the result. -ENOMEM: the input is lost, but for one thing: the signal of a
// later life has ended the one before, as `actions` says.
int registry_feed(Registry *registry, Input *input, Instant now, Actions *actions);

// When to feed INPUT_TIMER, as CLOCK_BOOTTIME in microseconds; USEC_NEVER when nothing is waited
// for.
uint64_t registry_next_deadline(const Registry *registry);

// Lives in the order they began. The life with this serial, of this pid, the first begun after a
// serial (0: the first of all); NULL where there is none. Borrowed until the next feed.
const Process *registry_find(const Registry *registry, uint64_t serial);
const Process *registry_find_pid(const Registry *registry, pid_t pid);
const Process *registry_next(const Registry *registry, uint64_t serial);

// Whether an attempt at this life is under way: an INPUT_PROBED will come, or its end.
bool registry_is_probing(const Registry *registry, uint64_t serial);

size_t registry_count(const Registry *registry);
// STATE_GONE: of those that have ended.
uint64_t registry_count_in(const Registry *registry, State state);
uint64_t registry_last_serial(const Registry *registry); // of the life begun last, 0: none yet
uint64_t registry_sequence(const Registry *registry);    // of the last change, 0: none yet
// True while a signal was refused for lack of room and no rescan has been asked for since.
bool registry_overflowed(const Registry *registry);
const RegistryCounters *registry_counters(const Registry *registry);
