// Token buckets, each kept as the time at which it is full again. A reply is paid for when its size
// is known, so that one can be larger than what was left.
// SPDX-License-Identifier: MIT
#include "bus_rates.h"

#include "instant.h"

static bool allows(uint64_t paid_us, uint64_t burst, uint64_t per_second, uint64_t now_us) {
    return paid_us < now_us + burst * USEC_PER_SEC / per_second;
}

static void pay(uint64_t *paid_us, uint64_t bytes, uint64_t per_second, uint64_t now_us) {
    if (*paid_us < now_us)
        *paid_us = now_us;
    *paid_us += bytes * USEC_PER_SEC / per_second;
}

bool bus_rates_allow(const BusRates *rates, uid_t uid, uint64_t now_us) {
    return uid == 0 ||
           (allows(rates->places[uid % BOUND_BUS_PLACES], BOUND_BUS_BURST, BOUND_BUS_PER_SECOND,
                   now_us) &&
            allows(rates->users, BOUND_BUS_USERS_BURST, BOUND_BUS_USERS_PER_SECOND, now_us));
}

void bus_rates_pay(BusRates *rates, uid_t uid, size_t bytes, uint64_t now_us) {
    if (uid == 0)
        return;
    if (bytes < BOUND_BUS_REPLY)
        bytes = BOUND_BUS_REPLY;
    pay(&rates->places[uid % BOUND_BUS_PLACES], bytes, BOUND_BUS_PER_SECOND, now_us);
    pay(&rates->users, bytes, BOUND_BUS_USERS_PER_SECOND, now_us);
}
