// Between the channel (bytes) and the methods (what is answered).
// SPDX-License-Identifier: MIT
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "discovery_names.h"
#include "log.h"

static int on_call(void *userdata, const VarlinkCall *call) {
    Session *session = userdata;
    if (!session->refused)
        return session->shared->call(session, call);
    channel_finish(session->channel);
    return call->oneway ? 0
                        : session_error(session, DISCOVERY_INTERFACE ".TooManyConnections", NULL);
}

static void end_stream(Session *session) {
    subscription_free(session->subscription);
    session->subscription = NULL;
    session->shared->counters.subscribers--;
}

static void end_listing(Session *session) {
    listing_free(session->listing);
    session->listing = NULL;
}

static int fill_listing(Session *session) {
    const char *frame = NULL;
    size_t size = 0;
    int r = listing_step(session->listing, &frame, &size);
    if (r < 0)
        return r;
    if (r == LISTING_MORE)
        return FILL_MORE;
    r = r == LISTING_DONE ? channel_send(session->channel, frame, size)
                          : session_error(session, DISCOVERY_INTERFACE ".ReplyTooLarge", NULL);
    if (r < 0)
        return r;
    end_listing(session);
    channel_release(session->channel);
    return FILL_IDLE;
}

static int on_fill(void *userdata) {
    Session *session = userdata;
    if (session->listing)
        return fill_listing(session);
    if (!session->subscription)
        return 0;
    int r = subscription_fill(session->subscription, session->channel);
    if (r != FILL_DONE)
        return r;
    end_stream(session);
    channel_release(session->channel);
    return 0;
}

static void on_closed(void *userdata, const char *fault, int error) {
    Session *session = userdata;
    if (fault) {
        session->shared->counters.malformed++;
        log_debug("Connection of uid %u closed: %s", session->viewer.uid, fault);
    } else if (error < 0) {
        log_debug("Connection of uid %u closed: %s", session->viewer.uid, strerror(-error));
    }
    session->shared->closed(session->shared->userdata, session);
}

int session_new(sd_event *event, SessionShared *shared, int fd, const Viewer *viewer, bool refused,
                Session **ret) {
    static const ChannelHandler handler = {
        .call = on_call,
        .fill = on_fill,
        .closed = on_closed,
    };
    _cleanup_close_ int owned = fd;
    _cleanup_free_ Session *session = calloc(1, sizeof *session);
    if (!session)
        return -ENOMEM;
    *session = (Session){.shared = shared, .viewer = *viewer, .refused = refused};
    int r = channel_new(event, TAKE_FD(owned), &handler, session, &session->channel);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(session);
    return 0;
}

void session_free(Session *session) {
    if (!session)
        return;
    if (session->subscription)
        end_stream(session);
    end_listing(session);
    const Context *context = &session->shared->context;
    if (session->check != 0)
        context->check_cancel(context->userdata, session->check);
    channel_free(session->channel);
    free(session);
}

int session_reply(Session *session, json_t *parameters) {
    if (!parameters)
        return -ENOMEM;
    _cleanup_free_ char *frame = NULL;
    size_t size;
    int r = varlink_reply_format(parameters, false, &frame, &size);
    return r < 0 ? r : channel_send(session->channel, frame, size);
}

int session_error(Session *session, const char *error, json_t *parameters) {
    _cleanup_free_ char *frame = NULL;
    size_t size;
    int r = varlink_error_format(error, parameters, &frame, &size);
    return r < 0 ? r : channel_send(session->channel, frame, size);
}

int session_stream(Session *session, SubscriptionKind kind, Filter *filter) {
    int r = subscription_new(kind, &session->shared->context, &session->viewer, filter,
                             session->shared->queue, &session->subscription);
    if (r < 0)
        return r;
    session->shared->counters.subscribers++;
    channel_hold(session->channel);
    channel_wake(session->channel);
    return 0;
}

int session_list(Session *session, Filter *filter) {
    int r = listing_new(&session->shared->context, &session->viewer, filter, &session->listing);
    if (r < 0)
        return r;
    channel_hold(session->channel);
    channel_wake(session->channel);
    return 0;
}

int session_check(Session *session, pid_t pid) {
    const Context *context = &session->shared->context;
    // Held first: the answer may come before check() returns.
    session->check = ++session->shared->last_token;
    channel_hold(session->channel);
    int r = context->check(context->userdata, pid, session->check);
    if (r < 0) {
        session->check = 0;
        channel_release(session->channel);
    }
    return r;
}

void session_publish(Session *session, Change *change, bool at_once) {
    if (!session->subscription)
        return;
    PublishResult result = subscription_publish(session->subscription, change);
    if (result == PUBLISH_NOTHING)
        return;
    if (result == PUBLISH_OVERRUN)
        session->shared->counters.overruns++;
    session->waits = true;
    // What waits here must not be what the queue lacks room for.
    if (at_once || subscription_queued(session->subscription) > session->shared->queue / 4)
        session_flush(session);
}

void session_flush(Session *session) {
    if (!session->waits)
        return;
    session->waits = false;
    channel_wake(session->channel);
}

void session_check_done(Session *session, const CheckItems *items) {
    session->check = 0;
    _cleanup_json_ json_t *parameters = check_items_json(items);
    if (session_reply(session, parameters) < 0)
        channel_break(session->channel);
    else
        channel_release(session->channel);
}
