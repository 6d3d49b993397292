// Processes held by a pidfd until they end. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "context.h"

typedef struct Follower {
    Context *context;
    void *tree;             // of Followed by serial, tsearch(3)
    sd_event_source *exits; // owned; owns the epoll descriptor of all pidfds
} Follower;

// -errno.
int follower_init(Follower *follower, Context *context);
// Also of one that is all zero.
void follower_done(Follower *follower);

// As source_follow() and source_unfollow() say, without the kernel side's part.
int follower_add(Follower *follower, uint64_t serial, const ProcessKey *key);
void follower_remove(Follower *follower, uint64_t serial);
