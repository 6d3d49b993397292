// A token bucket per place, kept as the time at which it is full again.
// SPDX-License-Identifier: MIT
#include "throttle.h"

#include "instant.h"

bool throttle_pass(Throttle *throttle, uid_t uid, uint64_t now_us, uint64_t *ret_suppressed) {
    const uint64_t cost_us = USEC_PER_SEC / BOUND_JOURNAL_PER_SECOND;
    *ret_suppressed = 0;
    if (uid == 0)
        return true;

    typeof(&throttle->places[0]) place = &throttle->places[uid % BOUND_JOURNAL_PLACES];
    if (place->used_until_us < now_us)
        place->used_until_us = now_us;
    if (place->used_until_us + cost_us > now_us + BOUND_JOURNAL_BURST * cost_us) {
        place->suppressed++;
        return false;
    }
    place->used_until_us += cost_us;
    *ret_suppressed = place->suppressed;
    place->suppressed = 0;
    return true;
}
