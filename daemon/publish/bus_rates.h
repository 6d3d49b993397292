// How much each user is told over the bus. The bus keeps what a client does not read, and reads no
// more of a service of which it keeps too much: so what anybody is told is bounded in time.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bounds.h"

// BusRates{0} has told nobody anything yet. Places are shared as those of the journal are; root is
// told everything.
typedef struct BusRates {
    uint64_t places[BOUND_BUS_PLACES]; // when what was told is paid for, on CLOCK_BOOTTIME
    uint64_t users;                    // the same of all places
} BusRates;

// Whether there is something left for this user.
bool bus_rates_allow(const BusRates *rates, uid_t uid, uint64_t now_us);

void bus_rates_pay(BusRates *rates, uid_t uid, size_t bytes, uint64_t now_us);
