// How many lives each uid has, so that one user's fakes cannot fill the registry, nor those of a
// user with many uids root's part of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct Quota {
    size_t total_limit;
    size_t uid_limit; // of a uid other than 0
    size_t total;
    size_t others;       // of uids other than 0
    bool total_refused;  // one was refused since there was room
    bool others_refused; // likewise, for the part that is root's alone
    size_t uids_refused; // how many uids were refused one since they had room
    void *uids;          // tsearch(3) tree
} Quota;

typedef enum QuotaResult { QUOTA_OK, QUOTA_FULL, QUOTA_UID } QuotaResult;

void quota_done(Quota *quota);
// Counts one more for the uid, or remembers that it was refused. -ENOMEM.
int quota_charge(Quota *quota, uid_t uid);
// Counts one less. True, once, when there is room again for what was refused.
bool quota_release(Quota *quota, uid_t uid);

static inline bool quota_overflowed(const Quota *quota) {
    return quota->total_refused || quota->others_refused || quota->uids_refused > 0;
}
