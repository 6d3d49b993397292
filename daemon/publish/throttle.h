// How many journal entries the processes of one uid may lead to. Places are few and shared by uids
// that fall on the same one, so that a user with many uids is held back too.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bounds.h"

// Throttle{0} has let nothing pass yet.
typedef struct Throttle {
    struct {
        uint64_t used_until_us; // what has passed is paid for by then
        uint64_t suppressed;    // since the last that passed
    } places[BOUND_JOURNAL_PLACES];
} Throttle;

// Whether one more may pass now; *ret_suppressed is how many did not since the last that did. Those
// of uid 0 always may.
bool throttle_pass(Throttle *throttle, uid_t uid, uint64_t now_us, uint64_t *ret_suppressed);
