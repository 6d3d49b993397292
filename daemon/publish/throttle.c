// Token buckets, each kept as the time at which it is full again.
// SPDX-License-Identifier: MIT
#include "throttle.h"

#include "instant.h"

static bool pass(Allowance *allowance, unsigned burst, uint64_t cost_us, uint64_t now_us,
                 uint64_t *ret_suppressed) {
    *ret_suppressed = 0;
    if (allowance->used_until_us < now_us)
        allowance->used_until_us = now_us;
    if (allowance->used_until_us + cost_us > now_us + burst * cost_us) {
        allowance->suppressed++;
        return false;
    }
    allowance->used_until_us += cost_us;
    *ret_suppressed = allowance->suppressed;
    allowance->suppressed = 0;
    return true;
}

bool throttle_pass(Throttle *throttle, uid_t uid, uint64_t now_us, uint64_t *ret_suppressed) {
    if (uid == 0)
        return pass(&throttle->root, BOUND_JOURNAL_ROOT_BURST,
                    USEC_PER_SEC / BOUND_JOURNAL_ROOT_PER_SECOND, now_us, ret_suppressed);
    return pass(&throttle->users[uid % BOUND_JOURNAL_PLACES], BOUND_JOURNAL_BURST,
                USEC_PER_SEC / BOUND_JOURNAL_PER_SECOND, now_us, ret_suppressed);
}

bool throttle_pass_daemon(Throttle *throttle, uint64_t now_us) {
    uint64_t suppressed;
    return pass(&throttle->daemon, BOUND_JOURNAL_DAEMON_BURST,
                BOUND_JOURNAL_DAEMON_SECONDS * USEC_PER_SEC, now_us, &suppressed);
}
