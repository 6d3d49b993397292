// The process an attempt is about, pinned by a descriptor of its /proc/PID.
// SPDX-License-Identifier: MIT
#pragma once

#include "failure.h"
#include "procfs_text.h"

typedef struct Target {
    ProcessKey key;
    int directory; // owned, -1: not open
    StatusText status;
    const char *without_port; // static: why it has none, although it has not ended; NULL: it may
} Target;

// Opens it and makes sure that it is this life; with START_TICKS_UNKNOWN that it is one at all,
// whose start time it then has. OUTCOME_VANISHED where it is not, or has ended. May block.
int target_open(const ProcessKey *key, Target *ret, Failure *failure);
void target_done(Target *target);

// False once it ended: from its exit on, before it is a zombie and before its sockets close. Never
// blocks.
bool target_is_alive(const Target *target);
// The letter of its run state; 'X' once there is none, '?' where it cannot be read. Never blocks.
char target_run_state(const Target *target);

// What /proc tells of it; what may not be read stays unknown. OUTCOME_VANISHED where it ended
// meanwhile. The caller owns *ret. May block.
int target_facts(const Target *target, Facts **ret, Failure *failure);

// What its named mapping allows and what else shows a runtime, from its maps; each stays unknown
// where it is not there, where it lies beyond BOUND_PROC_MAPS, or where maps cannot be read, which
// is refused for some processes even to root. May block.
void target_mappings(const Target *target, Facts *facts);

// Its effective ids as they are now; where it has ended the facts stay as they are. Never blocks.
int target_credentials(const Target *target, Facts *facts);
