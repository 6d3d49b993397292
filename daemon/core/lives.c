// Serials only grow, so an array that is appended to stays sorted: a binary search finds one, and a
// reader that remembers a serial can go on from it whatever was removed meanwhile. Holes are closed
// once they are as many as the living.
// SPDX-License-Identifier: MIT
#include "lives.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "macro.h"

enum { LIVES_MIN_CAPACITY = 64 };

static int compare_pids(const void *a, const void *b) {
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return (left > right) - (left < right);
}

static Life *life_of_pid(pid_t *pid) {
    return CONTAINER_OF(pid, Life, process.key.pid);
}

void lives_done(Lives *lives) {
    assert(lives->alive == 0);
    assert(!lives->by_pid);
    free(lives->entries);
    *lives = (Lives){0};
}

// Where the first entry stands whose serial is at least `serial`.
static size_t lower_bound(const Lives *lives, uint64_t serial) {
    size_t low = 0, high = lives->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lives->entries[middle].serial < serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void close_holes(Lives *lives) {
    size_t kept = 0;
    for (size_t i = 0; i < lives->count; i++) {
        if (lives->entries[i].life)
            lives->entries[kept++] = lives->entries[i];
    }
    lives->count = kept;
}

int lives_add(Lives *lives, Life *life) {
    if (lives->count == lives->capacity) {
        size_t capacity = lives->capacity > 0 ? 2 * lives->capacity : LIVES_MIN_CAPACITY;
        LivesEntry *entries = reallocarray(lives->entries, capacity, sizeof *entries);
        if (!entries)
            return -ENOMEM;
        lives->entries = entries;
        lives->capacity = capacity;
    }
    if (!tsearch(&life->process.key.pid, &lives->by_pid, compare_pids))
        return -ENOMEM;
    lives->entries[lives->count++] = (LivesEntry){life->process.serial, life};
    lives->alive++;
    return 0;
}

void lives_remove(Lives *lives, Life *life) {
    size_t i = lower_bound(lives, life->process.serial);
    assert(i < lives->count && lives->entries[i].life == life);
    tdelete(&life->process.key.pid, &lives->by_pid, compare_pids);
    lives->entries[i].life = NULL;
    lives->alive--;
    if (lives->count > LIVES_MIN_CAPACITY && lives->alive < lives->count / 2)
        close_holes(lives);
}

Life *lives_find(const Lives *lives, uint64_t serial) {
    size_t i = lower_bound(lives, serial);
    return i < lives->count && lives->entries[i].serial == serial ? lives->entries[i].life : NULL;
}

Life *lives_find_pid(const Lives *lives, pid_t pid) {
    pid_t **node = tfind(&pid, &lives->by_pid, compare_pids);
    return node ? life_of_pid(*node) : NULL;
}

Life *lives_next(const Lives *lives, uint64_t serial) {
    for (size_t i = lower_bound(lives, serial + 1); i < lives->count; i++) {
        if (lives->entries[i].life)
            return lives->entries[i].life;
    }
    return NULL;
}
