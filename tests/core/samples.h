// Inputs for tests of the core.
// SPDX-License-Identifier: MIT
#pragma once

#include <string.h>

#include "input.h"

#define SECOND USEC_PER_SEC
#define T0 (100 * SECOND)

static inline Instant at(uint64_t boottime_us) {
    return (Instant){.boottime_us = boottime_us, .realtime_us = boottime_us + 1000 * SECOND};
}

static inline Signal sample_signal(pid_t pid, uint64_t start, uint64_t exec_count) {
    return (Signal){
        .kind = SIGNAL_MAPPING,
        .key = {.pid = pid, .start_ticks = start, .exec_count = exec_count},
        .namespace_pid = pid,
        .uid = 1000,
        .gid = 1000,
        .command = "app",
        .protection = 0,
        .socket_path = "/tmp/dotnet-diagnostic-1-1-socket",
        .seen = {.boottime_us = T0, .realtime_us = T0 + 1000 * SECOND},
    };
}
