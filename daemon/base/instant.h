// A moment on both clocks that the interface publishes. The decision layer takes it as an argument
// and never asks for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#define USEC_PER_MSEC UINT64_C(1000)
#define USEC_PER_SEC UINT64_C(1000000)
#define NSEC_PER_USEC UINT64_C(1000)
#define USEC_NEVER UINT64_MAX

typedef struct Instant {
    uint64_t boottime_us; // CLOCK_BOOTTIME: grows through suspend, what decisions use
    uint64_t realtime_us; // CLOCK_REALTIME: may jump, for people only
} Instant;

Instant instant_now(void);

// The moment `boottime_us` seen from `now`, whose two clocks give the distance between them.
Instant instant_at(Instant now, uint64_t boottime_us);
