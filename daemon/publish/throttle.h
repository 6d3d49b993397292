// How many journal entries processes and the daemon itself may lead to.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bounds.h"

typedef struct Allowance {
    uint64_t used_until_us; // what has passed is paid for by then
    uint64_t suppressed;    // since the last that passed
} Allowance;

// Throttle{0} has let nothing pass yet. Places are few and shared by uids that fall on the same
// one, so that a user with many uids is held back too; root has its own.
typedef struct Throttle {
    Allowance users[BOUND_JOURNAL_PLACES];
    Allowance root;
    Allowance daemon;
} Throttle;

// Whether one more about a process of this uid may pass now; *ret_suppressed is how many did not
// since the last that did.
bool throttle_pass(Throttle *throttle, uid_t uid, uint64_t now_us, uint64_t *ret_suppressed);

// The same for the daemon itself.
bool throttle_pass_daemon(Throttle *throttle, uint64_t now_us);
