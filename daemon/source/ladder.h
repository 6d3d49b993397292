// The mechanisms in their order: the first that passes its self-test is used. Private to this
// layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "hooks.h"
#include "perf.h"
#include "ring.h"

typedef int (*LadderLoss)(void *userdata);

typedef struct Ladder {
    Context *context;
    Ring *ring;
    LadderLoss loss; // called when records were lost
    void *userdata;
    Hooks hooks;
    Perf perf;
    Mechanism mechanisms[MECHANISM_COUNT_];
    MechanismId used;
} Ladder;

void ladder_init(Ladder *ladder, Context *context, Ring *ring, LadderLoss loss, void *userdata);
void ladder_done(Ladder *ladder);

// As source_attach() says, and tells of the programs mapping and listen.
int ladder_attach(Ladder *ladder);
// Whether what is used leaves something to scans at an interval; before each of them.
bool ladder_needs_scans(const Ladder *ladder);
void ladder_refresh(Ladder *ladder);

// Reads what there is of records.
void ladder_drain(Ladder *ladder);
// As kernel_remember() and kernel_forget(), whatever tells of an execve.
void ladder_remember(Ladder *ladder, const ProcessKey *key);
void ladder_forget(Ladder *ladder, pid_t pid, uint64_t exec_count);
