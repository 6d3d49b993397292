// A function of its own, so that what it promises can be tested without a host on which scans are
// dear.
// SPDX-License-Identifier: MIT
#include "scan_interval.h"

#include "bounds.h"
#include "instant.h"

uint64_t scan_interval_us(uint64_t cost_us, uint64_t failures) {
    const uint64_t most_us = BOUND_SCAN_INTERVAL_MAX_MS * USEC_PER_MSEC;
    uint64_t interval_us = BOUND_SCAN_INTERVAL_MS * USEC_PER_MSEC;
    for (; failures > 1 && interval_us < most_us; failures--)
        interval_us *= 2;
    // Divided and not multiplied, which might overflow.
    if (cost_us > interval_us / BOUND_SCAN_REST)
        interval_us = cost_us > most_us / BOUND_SCAN_REST ? most_us : cost_us * BOUND_SCAN_REST;
    return interval_us < most_us ? interval_us : most_us;
}
