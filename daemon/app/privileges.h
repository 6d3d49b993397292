// The capabilities that the daemon needs, and which of them it lacks.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum PrivilegeUse {
    PRIVILEGES_OF_PROGRAMS = 1,  // to load and attach kernel programs
    PRIVILEGES_OF_PROCESSES = 2, // to reach other users' processes
} PrivilegeUse;

// Writes "CAP_X to do this, CAP_Y to do that", each that is needed for one of `uses` (a mask) and
// missing; "" for none. -errno where they cannot be had.
int privileges_missing(unsigned uses, char *ret, size_t size);
