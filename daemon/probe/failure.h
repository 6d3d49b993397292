// Why a process could not be reached, and the result convention of this layer: a step returns a
// negative errno where the daemon itself lacks something, STEP_DONE, or STEP_FAILED with a Failure.
// SPDX-License-Identifier: MIT
#pragma once

#include "input.h"

typedef enum Step {
    STEP_FAILED,
    STEP_DONE,
} Step;

typedef struct Failure {
    Outcome outcome;             // OUTCOME_ANSWERED: there was none
    char *detail;                // owned; NULL where memory was short
    char path[SOCKET_PATH_SIZE]; // the socket it is about, "" for none
} Failure;

void failure_done(Failure *failure);

// Replaces what was there. The detail is "PATH: " with the path escaped (for a path), then the
// text, then " (ERRNONAME)" for an errno other than 0.
void failure_set(Failure *failure, Outcome outcome, const char *path, int error, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
// Adds to the detail.
void failure_append(Failure *failure, const char *text);
// Keeps the one that tells more, the older of equals, and leaves none in *other.
void failure_merge(Failure *failure, Failure *other);

// True where an errno speaks of the daemon's own limits and not of the process.
bool failure_is_ours(int error);
