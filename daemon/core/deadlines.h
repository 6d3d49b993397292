// Which life is due next: a binary heap of moments that stand in their owners.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Deadline {
    uint64_t when_us;
    size_t place; // in the heap, counted from 1; 0: not waiting
} Deadline;

typedef struct Deadlines {
    Deadline **heap; // the array is owned, what it points to is not
    size_t count;
    size_t capacity;
} Deadlines;

void deadlines_done(Deadlines *deadlines);
// Room for `count` waiting at once; deadlines_set() within it cannot fail. -ENOMEM.
int deadlines_reserve(Deadlines *deadlines, size_t count);
// Waits for `when_us`, whether or not it waited already.
void deadlines_set(Deadlines *deadlines, Deadline *deadline, uint64_t when_us);
void deadlines_remove(Deadlines *deadlines, Deadline *deadline);
// The earliest; NULL when nothing waits.
Deadline *deadlines_first(const Deadlines *deadlines);
