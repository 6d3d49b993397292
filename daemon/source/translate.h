// From the kernel's record to an Input: the kernel counts nanoseconds in the initial time
// namespace, the daemon what its own namespace's clocks and /proc show. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#include "discovery_record.h"
#include "input.h"

typedef struct Clocks {
    uint64_t ns_per_tick;       // of field 22 of /proc/PID/stat
    int64_t boottime_offset_ns; // of the daemon's time namespace
    int64_t start_offset_ns;    // the same, as /proc/PID/stat has it: before 5.11 it has none
} Clocks;

Clocks clocks_of_daemon(void);
// What the kernel counts on CLOCK_BOOTTIME, as the daemon's own clock shows it.
uint64_t clocks_shown_ns(Clocks clocks, uint64_t ns);

// A mapping or scan record becomes an INPUT_SIGNAL, an exec record an INPUT_EXEC.
Input translate_record(Clocks clocks, const struct discovery_record *record, Instant now);
