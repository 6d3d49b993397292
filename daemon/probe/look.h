// What of an attempt can be made to block: everything but waiting for the answer. A look is handed
// to a worker's thread, which finds the socket, connects, asks, and reads the facts of /proc while
// the process makes its answer. It holds all it needs, and whoever has it has it alone.
// SPDX-License-Identifier: MIT
#pragma once

#include "locator.h"
#include "workers.h"

typedef struct Look {
    Job job;     // first; done and owner are the attempt's
    void *owner; // of the loop's side, untouched here

    // What to look at. The hint ("" for none) is tried first.
    char hint[SOCKET_PATH_SIZE];
    bool wants_protection; // of the mapping, from maps
    bool named_only;       // leave out what has not the name of a default diagnostic socket
    bool same_socket;      // ask at `path` once more instead of going on to the next socket
    int version;           // of the question

    Target target; // its key from the beginning, its descriptor from the first run on

    // How far it is.
    bool hint_used;
    bool located;
    Candidates candidates;
    size_t candidates_used;
    char path[SOCKET_PATH_SIZE]; // the one asked now

    // What a run found: STEP_DONE, STEP_FAILED with a failure, or a negative errno.
    int result;
    int fd; // owned; the question is out
    Failure failure;
    Facts *facts; // owned; kept from run to run, NULL until read
} Look;

// Its job has no kind yet. -ENOMEM. The caller owns *ret.
int look_new(const ProcessKey *key, const char *hint, Look **ret);
void look_free(Look *look);

// On a thread: looks on from where it is.
void look_run(Look *look);

// Whether a failure with this outcome, at look->path, says nothing of the next socket.
bool look_leaves_others(const Look *look, Outcome outcome);
