// The process an attempt is about, pinned by a descriptor of its /proc/PID.
// SPDX-License-Identifier: MIT
#pragma once

#include "failure.h"
#include "procfs_text.h"

typedef struct Target {
    ProcessKey key;
    int directory; // owned, -1: not open
    StatusText status;
} Target;

#define TARGET_CLOSED ((Target){.directory = -1})

// Opens it and makes sure that it is this life. OUTCOME_VANISHED where it is not.
int target_open(const ProcessKey *key, Target *ret, Failure *failure);
void target_done(Target *target);

// False once it ended: from its exit on, before it is a zombie and before its sockets close.
bool target_is_alive(const Target *target);
// The letter of /proc/PID/stat; 'X' once there is none, '?' where it cannot be read.
char target_run_state(const Target *target);

// What /proc tells of it; what may not be read stays unknown. OUTCOME_VANISHED where it ended
// meanwhile. The caller owns *ret.
int target_facts(const Target *target, Facts **ret, Failure *failure);

// Its effective ids as they are now; where it has ended the facts stay as they are.
int target_credentials(const Target *target, Facts *facts);
