// A binary heap. Each deadline knows its place, so that it can be moved and removed in O(log n).
// SPDX-License-Identifier: MIT
#include "deadlines.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void deadlines_done(Deadlines *deadlines) {
    assert(deadlines->count == 0);
    free(deadlines->heap);
    *deadlines = (Deadlines){0};
}

int deadlines_reserve(Deadlines *deadlines, size_t count) {
    if (count <= deadlines->capacity)
        return 0;
    size_t capacity = count > 2 * deadlines->capacity ? count : 2 * deadlines->capacity;
    Deadline **heap = reallocarray(deadlines->heap, capacity, sizeof *heap);
    if (!heap)
        return -ENOMEM;
    deadlines->heap = heap;
    deadlines->capacity = capacity;
    return 0;
}

static void put(Deadlines *deadlines, Deadline *deadline, size_t place) {
    deadlines->heap[place - 1] = deadline;
    deadline->place = place;
}

// Moves up what may be earlier than its parent, then down what may be later than a child.
static void settle(Deadlines *deadlines, Deadline *deadline) {
    size_t place = deadline->place;
    while (place > 1 && deadlines->heap[place / 2 - 1]->when_us > deadline->when_us) {
        put(deadlines, deadlines->heap[place / 2 - 1], place);
        place /= 2;
    }
    for (;;) {
        size_t child = 2 * place;
        if (child > deadlines->count)
            break;
        if (child < deadlines->count &&
            deadlines->heap[child]->when_us < deadlines->heap[child - 1]->when_us)
            child++;
        if (deadlines->heap[child - 1]->when_us >= deadline->when_us)
            break;
        put(deadlines, deadlines->heap[child - 1], place);
        place = child;
    }
    put(deadlines, deadline, place);
}

void deadlines_set(Deadlines *deadlines, Deadline *deadline, uint64_t when_us) {
    deadline->when_us = when_us;
    if (deadline->place == 0) {
        assert(deadlines->count < deadlines->capacity);
        deadlines->count++;
        put(deadlines, deadline, deadlines->count);
    }
    settle(deadlines, deadline);
}

void deadlines_remove(Deadlines *deadlines, Deadline *deadline) {
    size_t place = deadline->place;
    if (place == 0)
        return;
    deadline->place = 0;
    Deadline *last = deadlines->heap[deadlines->count - 1];
    deadlines->count--;
    if (last == deadline)
        return;
    put(deadlines, last, place);
    settle(deadlines, last);
}

Deadline *deadlines_first(const Deadlines *deadlines) {
    return deadlines->count > 0 ? deadlines->heap[0] : NULL;
}
