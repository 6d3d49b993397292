// How soon one scan follows another by itself. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

// Between the beginnings of the last one, which took so much CPU time, and the next: so long that
// all of them together cost little, and after `failures` in a row twice as long for each; from
// BOUND_SCAN_INTERVAL_MS to BOUND_SCAN_INTERVAL_MAX_MS.
uint64_t scan_interval_us(uint64_t cost_us, uint64_t failures);
