// The lives there are, by serial (in the order they began) and by pid.
// SPDX-License-Identifier: MIT
#pragma once

#include "life.h"

typedef struct LivesEntry {
    uint64_t serial;
    Life *life; // NULL once it was removed
} LivesEntry;

typedef struct Lives {
    LivesEntry *entries; // owned, serials ascending
    size_t count;        // entries in use, holes included
    size_t capacity;
    size_t alive;
    void *by_pid; // tsearch(3) tree of pointers to process.key.pid
} Lives;

void lives_done(Lives *lives);
// The life's serial must be greater than any before, its pid not be there. The lives are not owned:
// whoever removes one frees it. -ENOMEM: not added.
int lives_add(Lives *lives, Life *life);
void lives_remove(Lives *lives, Life *life);
Life *lives_find(const Lives *lives, uint64_t serial);
Life *lives_find_pid(const Lives *lives, pid_t pid);
// The first whose serial is greater.
Life *lives_next(const Lives *lives, uint64_t serial);
