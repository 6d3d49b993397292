// How snapshot and changes are kept together without a copy of either.
//
// Lives have serials that grow. A snapshot goes through the registry from serial to serial, a page
// each time the client has read the last one, up to the life that was the newest when it began. A
// change meanwhile is queued if its life was passed already (or is younger than the snapshot), and
// is not if the snapshot has yet to come to it. The queue is sent behind `synced`.
//
// Whether a subscriber holds a process is not remembered: the same question (does it see it, does
// its filter match) asked of the traits before a change and after it tells what it was told before.
//
// A queue that overflows is dropped at once. The client then reads its snapshot to the end, where
// that is under way, and is told of the overrun, and begins anew.
// SPDX-License-Identifier: MIT
#include "subscription.h"

#include <errno.h>
#include <stdlib.h>

#include "bounds.h"
#include "buffer.h"
#include "discovery_names.h"
#include "page.h"

// What a reply holds besides processes.
enum { ENVELOPE_SIZE = 256 };

typedef enum Phase {
    PHASE_SNAPSHOT, // pages
    PHASE_LIVE,     // changes as they come
    PHASE_LAST,     // List: the changes queued so far, no more are taken
} Phase;

struct Subscription {
    SubscriptionKind kind;
    const Context *context;
    Viewer viewer;
    Filter filter; // owned
    Phase phase;
    uint64_t cursor;   // serial of the last life that the snapshot looked at
    uint64_t end;      // serial of the last life of the snapshot
    uint64_t sequence; // of the last change that the snapshot knows whole
    bool paged;        // the snapshot has had a page
    bool overrun;      // changes were dropped since the snapshot began
    Buffer queue;      // whole frames
};

static void begin_snapshot(Subscription *subscription) {
    const Registry *registry = subscription->context->registry;
    subscription->phase = PHASE_SNAPSHOT;
    subscription->cursor = 0;
    subscription->end = registry_last_serial(registry);
    subscription->sequence = registry_sequence(registry);
    subscription->paged = false;
    subscription->overrun = false;
}

int subscription_new(SubscriptionKind kind, const Context *context, const Viewer *viewer,
                     Filter *filter, size_t queue, Subscription **ret) {
    Subscription *subscription = calloc(1, sizeof *subscription);
    if (!subscription) {
        filter_done(filter);
        return -ENOMEM;
    }
    *subscription = (Subscription){
        .kind = kind,
        .context = context,
        .viewer = *viewer,
        .filter = *filter,
    };
    *filter = (Filter){0};
    buffer_init(&subscription->queue, queue);
    begin_snapshot(subscription);
    *ret = subscription;
    return 0;
}

void subscription_free(Subscription *subscription) {
    if (!subscription)
        return;
    filter_done(&subscription->filter);
    buffer_done(&subscription->queue);
    free(subscription);
}

// `parameters` is taken; NULL stands for one that could not be made.
static int send_reply(Channel *channel, json_t *parameters, bool continues) {
    _cleanup_json_ json_t *owned = parameters;
    if (!owned)
        return -ENOMEM;
    _cleanup_free_ char *frame = NULL;
    size_t size;
    int r = varlink_reply_format(owned, continues, &frame, &size);
    return r < 0 ? r : channel_send(channel, frame, size);
}

static int send_event(Channel *channel, const char *kind, uint64_t sequence) {
    return send_reply(
        channel, json_pack("{s:s, s:I}", "kind", kind, "sequence", (json_int_t)sequence), true);
}

static int send_page(Subscription *subscription, Channel *channel, json_t *processes) {
    json_int_t sequence = (json_int_t)subscription->sequence;
    subscription->paged = true;
    if (subscription->kind == SUBSCRIPTION_LIST)
        return send_reply(
            channel, json_pack("{s:O, s:I}", "processes", processes, "sequence", sequence), true);
    return send_reply(channel,
                      json_pack("{s:s, s:I, s:O}", "kind", "snapshot", "sequence", sequence,
                                "processes", processes),
                      true);
}

static int end_snapshot(Subscription *subscription, Channel *channel) {
    if (subscription->kind == SUBSCRIPTION_EVENTS) {
        subscription->phase = PHASE_LIVE;
        return send_event(channel, "synced", subscription->sequence);
    }
    // The list is of this moment, once the changes queued so far are told; so it ends.
    subscription->phase = PHASE_LAST;
    subscription->sequence = registry_sequence(subscription->context->registry);
    return 0;
}

static int fill_snapshot(Subscription *subscription, Channel *channel) {
    _cleanup_json_ json_t *processes = json_array();
    if (!processes)
        return -ENOMEM;
    Page page = {
        .context = subscription->context,
        .viewer = &subscription->viewer,
        .filter = &subscription->filter,
        .cursor = subscription->cursor,
        .end = subscription->end,
        .lives = BOUND_LIVES_PER_TURN,
    };
    int result = page_collect(&page, BOUND_PAGE - ENVELOPE_SIZE, processes);
    if (result < 0)
        return result;
    subscription->cursor = page.cursor;

    // A snapshot has a page even where there is nothing to show.
    if (json_array_size(processes) > 0 || (result == PAGE_END && !subscription->paged)) {
        int r = send_page(subscription, channel, processes);
        if (r < 0)
            return r;
    }
    if (result == PAGE_END) {
        int r = end_snapshot(subscription, channel);
        if (r < 0)
            return r;
    }
    return FILL_MORE;
}

// Whole frames, about a page of them: what has been taken over can no longer be dropped.
static int move_queue(Subscription *subscription, Channel *channel) {
    Buffer *queue = &subscription->queue;
    size_t moved = 0;
    while (buffer_size(queue) > 0 && moved < BOUND_PAGE) {
        ssize_t length = varlink_frame(buffer_bytes(queue), buffer_size(queue));
        if (length < 0)
            return -EBADMSG;
        size_t size = (size_t)length + 1;
        int r = channel_send(channel, buffer_bytes(queue), size);
        if (r < 0)
            return r;
        buffer_consume(queue, size);
        moved += size;
    }
    return 0;
}

static int finish_list(Subscription *subscription, Channel *channel) {
    int r = send_reply(
        channel,
        json_pack("{s:[], s:I}", "processes", "sequence", (json_int_t)subscription->sequence),
        false);
    return r < 0 ? r : FILL_DONE;
}

static int fail_list(Channel *channel) {
    _cleanup_free_ char *frame = NULL;
    size_t size;
    int r = varlink_error_format(DISCOVERY_INTERFACE ".ReplyTooLarge", NULL, &frame, &size);
    if (r >= 0)
        r = channel_send(channel, frame, size);
    return r < 0 ? r : FILL_DONE;
}

int subscription_fill(Subscription *subscription, Channel *channel) {
    bool is_list = subscription->kind == SUBSCRIPTION_LIST;
    if (subscription->overrun && is_list)
        return fail_list(channel);
    if (subscription->phase == PHASE_SNAPSHOT)
        return fill_snapshot(subscription, channel);
    if (subscription->overrun) {
        begin_snapshot(subscription);
        int r = send_event(channel, "overrun", subscription->sequence);
        return r < 0 ? r : FILL_MORE;
    }

    int r = move_queue(subscription, channel);
    if (r < 0)
        return r;
    if (buffer_size(&subscription->queue) > 0)
        return FILL_MORE;
    return is_list ? finish_list(subscription, channel) : FILL_IDLE;
}

// Without the globs.
static bool may_hold(const Subscription *subscription, const Traits *traits) {
    return viewer_sees(&subscription->viewer, traits) &&
           filter_match_values(&subscription->filter, traits);
}

// Whether the subscriber holds the process before the change, or after it. Globs are tried once
// where the change leaves the texts as they were.
static bool concerns(const Subscription *subscription, const Action *action, bool *ret_held) {
    const Filter *filter = &subscription->filter;
    const Traits *before = &action->before, *after = &action->process->traits;
    bool held = action->has_before && may_hold(subscription, before);
    bool holds = may_hold(subscription, after);
    if (held && holds && filter_same_texts(before, after)) {
        *ret_held = filter_match_texts(filter, after);
        return *ret_held;
    }
    *ret_held = held && filter_match_texts(filter, before);
    return *ret_held || (holds && filter_match_texts(filter, after));
}

static ChangeForm choose_form(const Subscription *subscription, const Traits *after, bool held) {
    bool hidden = !viewer_sees(&subscription->viewer, after);
    if (subscription->kind == SUBSCRIPTION_LIST)
        return hidden ? CHANGE_LIST_HIDDEN : CHANGE_LIST;
    if (hidden)
        return CHANGE_HIDDEN;
    return held ? CHANGE_KNOWN : CHANGE_NEW;
}

static PublishResult overrun(Subscription *subscription) {
    subscription->overrun = true;
    buffer_done(&subscription->queue);
    return PUBLISH_OVERRUN;
}

PublishResult subscription_publish(Subscription *subscription, Change *change) {
    const Action *action = change->action;
    if (subscription->overrun || subscription->phase == PHASE_LAST)
        return PUBLISH_NOTHING;
    if (subscription->phase == PHASE_SNAPSHOT && action->serial > subscription->cursor &&
        action->serial <= subscription->end)
        return PUBLISH_NOTHING;

    const Traits *after = &action->process->traits;
    bool held;
    if (!concerns(subscription, action, &held))
        return PUBLISH_NOTHING;

    const char *frame;
    size_t size;
    if (change_frame(change, choose_form(subscription, after, held), &frame, &size) < 0 ||
        buffer_append(&subscription->queue, frame, size) < 0)
        return overrun(subscription);
    return PUBLISH_QUEUED;
}

size_t subscription_queued(const Subscription *subscription) {
    return buffer_size(&subscription->queue);
}
