// What the registry asks for. The caller carries actions out in order, then clears the list; what
// the list still owns (ended lives, replaced facts) lives until then.
// SPDX-License-Identifier: MIT
#pragma once

#include "process.h"

// The registry's own part of a process, life.h.
typedef struct Life Life;

typedef enum ActionKind {
    ACTION_FOLLOW,    // hold the process by a pidfd and tell when it exits
    ACTION_UNFOLLOW,  // stop that
    ACTION_PROBE,     // make one attempt to reach it
    ACTION_CANCEL,    // end a running attempt; its outcome is no longer wanted
    ACTION_PUBLISH,   // tell others of a change
    ACTION_DISREGARD, // a signal was not taken (limits): forget what the kernel side keeps of the
                      // pid
    ACTION_RESCAN,    // there is room again for what was not taken or not followed
} ActionKind;

typedef struct Action {
    ActionKind kind;
    uint64_t serial; // which life; 0 for ACTION_DISREGARD and ACTION_RESCAN
    ProcessKey key;  // its key at the time; pid alone for ACTION_DISREGARD
    // ACTION_PUBLISH: the process after the change, and what it was before. No traits before it:
    // a new one.
    const Process *process;
    bool has_before;
    Traits before;
} Action;

typedef struct Actions {
    Action *items; // owned
    size_t count;
    size_t capacity;
    Life **ended; // owned: lives that the registry let go
    size_t ended_count;
    size_t ended_capacity;
    Facts **replaced; // owned
    size_t replaced_count;
    size_t replaced_capacity;
} Actions;

void actions_done(Actions *actions);
// Empties the list and frees what it owns; keeps its memory for the next turn.
void actions_clear(Actions *actions);

// For the registry: room for this much more, so that what follows cannot fail half-way. -ENOMEM.
int actions_reserve(Actions *actions, size_t items, size_t ended, size_t replaced);
// The next item of the room reserved, zeroed.
Action *actions_add(Actions *actions, ActionKind kind, uint64_t serial, const ProcessKey *key);
