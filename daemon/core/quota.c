// Counts per uid in a tree; a uid without lives has no node.
// SPDX-License-Identifier: MIT
#include "quota.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "bounds.h"

typedef struct UidCount {
    uid_t uid;
    size_t count;
    bool refused;
} UidCount;

static int compare_uids(const void *a, const void *b) {
    uid_t left = ((const UidCount *)a)->uid, right = ((const UidCount *)b)->uid;
    return (left > right) - (left < right);
}

static UidCount *find(const Quota *quota, uid_t uid) {
    UidCount key = {.uid = uid};
    UidCount **node = tfind(&key, &quota->uids, compare_uids);
    return node ? *node : NULL;
}

// Room for one part in sixteen: a registry that is full to the brim does not ask for a rescan at
// every exit.
static bool has_room(size_t count, size_t limit) {
    return count + limit / 16 < limit;
}

static size_t others_limit(const Quota *quota) {
    return quota->total_limit - quota->total_limit / BOUND_ROOT_DIVISOR;
}

void quota_done(Quota *quota) {
    assert(quota->total == 0);
    assert(!quota->uids);
}

int quota_charge(Quota *quota, uid_t uid) {
    UidCount *count = find(quota, uid);
    if (uid != 0 && count && count->count >= quota->uid_limit) {
        if (!count->refused)
            quota->uids_refused++;
        count->refused = true;
        return QUOTA_UID;
    }
    if (quota->total >= quota->total_limit) {
        quota->total_refused = true;
        return QUOTA_FULL;
    }
    if (uid != 0 && quota->others >= others_limit(quota)) {
        quota->others_refused = true;
        return QUOTA_FULL;
    }
    if (!count) {
        count = malloc(sizeof *count);
        if (!count)
            return -ENOMEM;
        *count = (UidCount){.uid = uid};
        if (!tsearch(count, &quota->uids, compare_uids)) {
            free(count);
            return -ENOMEM;
        }
    }
    count->count++;
    quota->total++;
    quota->others += uid != 0;
    return QUOTA_OK;
}

bool quota_release(Quota *quota, uid_t uid) {
    UidCount *count = find(quota, uid);
    assert(count && count->count > 0);
    bool room = false;

    quota->total--;
    quota->others -= uid != 0;
    count->count--;
    if (quota->total_refused && has_room(quota->total, quota->total_limit)) {
        quota->total_refused = false;
        room = true;
    }
    if (quota->others_refused && has_room(quota->others, others_limit(quota))) {
        quota->others_refused = false;
        room = true;
    }
    if (count->refused && has_room(count->count, quota->uid_limit)) {
        count->refused = false;
        quota->uids_refused--;
        room = true;
    }
    if (count->count == 0) {
        tdelete(count, &quota->uids, compare_uids);
        free(count);
    }
    return room;
}
