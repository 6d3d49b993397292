// A running Subscribe, or List with "more": the snapshot, page by page as the client reads, and
// what changed meanwhile.
// SPDX-License-Identifier: MIT
#pragma once

#include "change.h"
#include "channel.h"
#include "filter.h"
#include "status.h"

typedef struct Subscription Subscription;

typedef enum SubscriptionKind { SUBSCRIPTION_EVENTS, SUBSCRIPTION_LIST } SubscriptionKind;

// Takes what *filter owns, also on failure. `queue` is how many bytes of changes may wait. -ENOMEM.
// The caller owns *ret.
int subscription_new(SubscriptionKind kind, const Context *context, const Viewer *viewer,
                     Filter *filter, size_t queue, Subscription **ret);
void subscription_free(Subscription *subscription);

// Puts the next part into the channel, whose output is empty. A negative errno ends the
// connection.
typedef enum FillResult {
    FILL_IDLE, // nothing more until something changes
    FILL_MORE, // call again
    FILL_DONE, // the last reply is in
} FillResult;
int subscription_fill(Subscription *subscription, Channel *channel);

typedef enum PublishResult {
    PUBLISH_NOTHING, // does not concern this subscriber, or comes with the snapshot
    PUBLISH_QUEUED,
    PUBLISH_OVERRUN, // the queue was dropped
} PublishResult;
PublishResult subscription_publish(Subscription *subscription, Change *change);
// Bytes of changes that wait to be sent.
size_t subscription_queued(const Subscription *subscription);
