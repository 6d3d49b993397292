// Finds where a process listens, when nobody said or what was said does not hold.
// SPDX-License-Identifier: MIT
#pragma once

#include "bounds.h"
#include "target.h"

typedef struct Locator Locator;

typedef struct Candidates {
    size_t count;
    char paths[BOUND_CANDIDATES][SOCKET_PATH_SIZE]; // as bound
} Candidates;

// `target` is borrowed until the locator is freed. The caller owns *ret.
int locator_new(const Target *target, Locator **ret, Failure *failure);
void locator_free(Locator *locator);

// Looks on for a bounded while. LOCATOR_MORE: not at the end yet. STEP_DONE: *ret, borrowed from
// the locator, are one or more paths of the target's own listening stream sockets, those with the
// name of a default diagnostic socket; where it has none, its others. STEP_FAILED:
// OUTCOME_NO_SOCKET.
enum { LOCATOR_MORE = STEP_DONE + 1 };
int locator_step(Locator *locator, const Candidates **ret, Failure *failure);
