// One process below /proc, held by a descriptor of its directory. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "input.h"

typedef enum ProcEntryResult { PROC_ENTRY_OK, PROC_ENTRY_GONE } ProcEntryResult;

// Opens /proc/PID and checks that it is the process that started then. The caller owns *ret. -errno
// where that cannot be told.
int proc_entry_open(const ProcessKey *key, int *ret);

// Field 22 of its stat.
int proc_entry_start_ticks(int directory, uint64_t *ret);

// Adds to a signal whose process it is and its command. -errno where that cannot be told; the
// command may then be missing.
int proc_entry_describe(int directory, Signal *signal);
