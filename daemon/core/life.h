// What the registry keeps of a process beside what everybody may read.
// SPDX-License-Identifier: MIT
#pragma once

#include "deadlines.h"
#include "input.h"

typedef struct Life {
    Process process;
    Facts *facts;          // owned; what process.traits.facts shows
    uid_t charged_uid;     // whose quota this life counts against, as first signalled
    bool named_by_kernel;  // a kernel record named it, not only a scan of /proc
    bool probing;          // an attempt is in flight
    bool signalled_again;  // during that attempt
    bool told_more;        // the same, with something that was unknown
    bool patient;          // no signal makes the next one due at once
    uint64_t window_us;    // attempts are counted from here
    uint64_t attempted_us; // when the last attempt ended, 0: none did
    Deadline deadline;     // the next attempt
} Life;

// Begins with the state detected and all that the signal tells. NULL when out of memory.
Life *life_new(uint64_t serial, const Signal *signal);
void life_free(Life *life);

typedef enum LifeNews {
    LIFE_NEWS_NONE,
    LIFE_NEWS_LATER, // to be told with the next change, which is on its way
    LIFE_NEWS_NOW,   // to be told
} LifeNews;
// Takes what a further signal of the same life adds.
LifeNews life_merge(Life *life, const Signal *signal);

typedef enum LifeRelation {
    LIFE_SAME,
    LIFE_NEWER, // the key is of a later life of the same pid
    LIFE_OLDER,
} LifeRelation;
// How a key of the same pid stands to a life's. An unknown exec count fits any.
LifeRelation life_compare(const ProcessKey *life, const ProcessKey *key);
