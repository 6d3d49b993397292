// Asks one process one question: finds its diagnostic socket, makes sure whose it is, sends one
// ProcessInfo request, reads one reply. A bounded pool of such attempts; what does not fit waits in
// a queue of its uid, and the queues take turns. All that a process can make block is done on
// threads of their own, so that the loop never waits; everything else, and every decision, is the
// loop's.
//
// What is promised to the process (docs/security.md): at most one connection at a time, the whole
// request at once, one absolute deadline, nothing else ever sent, none of its files touched, no
// path of it followed out of its root.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-event.h>

#include "input.h"

typedef struct ProbePool ProbePool;

// Gets exactly one INPUT_PROBED for each probe_start() that was not cancelled, with all that it
// owns, and never from within probe_start().
typedef void (*ProbeInput)(void *userdata, Input *input);

// `attempts` is how many may be in flight; a quarter of them, but one at least, at processes of one
// uid other than 0, so that one user's silent processes do not keep others waiting. -ENOMEM. The
// caller owns *ret.
int probe_pool_new(sd_event *event, size_t attempts, ProbeInput input, void *userdata,
                   ProbePool **ret);
void probe_pool_free(ProbePool *pool);

typedef struct ProbeTarget {
    ProcessKey key;          // start_ticks may be START_TICKS_UNKNOWN
    uid_t uid;               // to whose account it goes
    const char *socket_hint; // tried first, "" for none
    bool wants_protection;   // in the facts
    bool named_only;         // no signal named it: sockets of other names are none of ours to ask
} ProbeTarget;

// One attempt at this process. `serial` names the attempt in its input and must not be in the pool
// already. -ENOMEM.
int probe_start(ProbePool *pool, uint64_t serial, const ProbeTarget *target);
// Ends it, or takes it out of the queue; no input follows. Not having it is no error.
void probe_cancel(ProbePool *pool, uint64_t serial);

typedef struct ProbeCounters {
    uint64_t attempts;
    uint64_t answered;
    uint64_t failed;
    uint64_t not_made; // of the failed ones, for lack of something of the daemon's own
    char lack[64];     // why the last one was not made; "" where it was
    size_t in_flight;
    size_t waiting;
    size_t stuck; // threads that a process keeps waiting, beyond an attempt's deadline
} ProbeCounters;
const ProbeCounters *probe_counters(ProbePool *pool);
