// Processes held by a pidfd until they end. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "context.h"

typedef struct Follower {
    Context *context;
    void *tree; // of Followed by serial, tsearch(3)
} Follower;

void follower_init(Follower *follower, Context *context);
void follower_done(Follower *follower);

// As source_follow() and source_unfollow() say, without the kernel side's part.
int follower_add(Follower *follower, uint64_t serial, const ProcessKey *key);
void follower_remove(Follower *follower, uint64_t serial);
