// Reading the clocks.
// SPDX-License-Identifier: MIT
#include "instant.h"

#include <time.h>

static uint64_t clock_us(clockid_t clock) {
    struct timespec ts = {0};
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / NSEC_PER_USEC;
}

Instant instant_now(void) {
    return (Instant){
        .boottime_us = clock_us(CLOCK_BOOTTIME),
        .realtime_us = clock_us(CLOCK_REALTIME),
    };
}

Instant instant_at(Instant now, uint64_t boottime_us) {
    // Unsigned arithmetic: right for moments on either side of now.
    return (Instant){
        .boottime_us = boottime_us,
        .realtime_us = now.realtime_us - now.boottime_us + boottime_us,
    };
}
