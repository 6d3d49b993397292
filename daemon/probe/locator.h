// Finds where a process listens, when nobody said or what was said does not hold.
// SPDX-License-Identifier: MIT
#pragma once

#include "bounds.h"
#include "target.h"

typedef struct Candidates {
    size_t count;
    char paths[BOUND_CANDIDATES][SOCKET_PATH_SIZE]; // as bound
} Candidates;

// STEP_DONE: *ret are one or more paths of the target's own listening stream sockets, those with
// the name of a default diagnostic socket; where it has none, its others unless `named_only`.
// STEP_FAILED with OUTCOME_NO_SOCKET: it has none of these. May block.
int locator_find(const Target *target, bool named_only, Candidates *ret, Failure *failure);
