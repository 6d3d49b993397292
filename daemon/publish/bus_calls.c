// Who calls is asked of the bus, which knows the uid and the groups that the caller had when it
// connected; /proc would tell of whoever has the pid by then. Until the answer comes the caller's
// uid is unknown, so what waits for it is bounded for each client, and in all alone.
//
// What is kept of a call is small, whatever the caller sent with it: what was read of it, and a
// copy of no more than a reply needs. All replies are made here, and none has in it what a caller
// sent, but a short key of a filter.
//
// A bus that is busy reads little of what it is sent, and all in turn. So only root is answered at
// any time; others wait until the bus has taken what was sent before, and root then waits for one
// of their replies at most.
//
// Lists are collected one at a time, and none is begun before the bus has taken what was sent
// before: so there are never two long replies in memory, however slowly the bus reads.
// SPDX-License-Identifier: MIT
#include "bus_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "bus_listing.h"
#include "bus_methods.h"
#include "cleanup.h"
#include "discovery_names.h"
#include "instant.h"
#include "log.h"

typedef struct BusCall {
    TAILQ_ENTRY(BusCall) link; // BusCaller::waiting, BusCalls::queued or ::lists
    BusCalls *calls;           // borrowed
    sd_bus_message *message;   // owned, a copy
    BusRequest request;        // owned
    Viewer viewer;             // once the caller is known
    BusListing listing;
} BusCall;

static void call_free(BusCall *call) {
    bus_listing_done(&call->listing);
    filter_done(&call->request.filter);
    sd_bus_message_unref(call->message);
    free(call);
}
DEFINE_CLEANUP(BusCall *, call_free);

// The sender and the number: all that a reply takes of a call.
static int copy_call(sd_bus_message *message, sd_bus_message **ret) {
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *copy = NULL;
    uint64_t number;
    int r = sd_bus_message_get_cookie(message, &number);
    if (r >= 0)
        r = sd_bus_message_new_method_call(sd_bus_message_get_bus(message), &copy, NULL, "/", NULL,
                                           "Copy");
    if (r >= 0)
        r = sd_bus_message_set_sender(copy, sd_bus_message_get_sender(message));
    if (r >= 0)
        r = sd_bus_message_seal(copy, number, 0);
    if (r >= 0)
        *ret = TAKE_PTR(copy);
    return r;
}

static int call_new(BusCalls *calls, sd_bus_message *message, BusCall **ret) {
    _cleanup_(call_freep) BusCall *call = calloc(1, sizeof *call);
    if (!call)
        return -ENOMEM;
    call->calls = calls;
    call->viewer.uid = UID_UNKNOWN;
    int r = bus_methods_read(message, &call->request);
    if (r >= 0)
        r = copy_call(message, &call->message);
    if (r >= 0)
        *ret = TAKE_PTR(call);
    return r;
}

// ---- replies

enum { ERROR_SIZE = 256 }; // of an error, about

static void pay(BusCall *call, size_t size) {
    if (call->viewer.uid != UID_UNKNOWN)
        bus_rates_pay(&call->calls->rates, call->viewer.uid, size, instant_now().boottime_us);
}

// A caller that has gone meanwhile is not missed: the bus drops the reply.
static void send_unpaid(BusCall *call, sd_bus_message *reply, size_t size) {
    int r = sd_bus_message_send(reply);
    if (r < 0)
        log_debug("Cannot reply over the bus: %s", strerror(-r));
    call->calls->unsent_bytes += size;
}

static void send_reply(BusCall *call, sd_bus_message *reply, size_t size) {
    send_unpaid(call, reply, size);
    pay(call, size);
}

static void send_error(BusCall *call, const char *name, const char *text) {
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    const sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(name, text);
    if (sd_bus_message_new_method_error(call->message, &reply, &error) >= 0)
        send_reply(call, reply, ERROR_SIZE);
}

static void send_failure(BusCall *call, int error) {
    log_debug("Cannot answer a call over the bus: %s", strerror(-error));
    send_error(call, SD_BUS_ERROR_FAILED, strerror(-error));
}

static void refuse(BusCall *call, const char *text) {
    call->calls->counters->refused++;
    send_error(call, SD_BUS_ERROR_LIMITS_EXCEEDED, text);
}

// Paid for apart: by calling on, one user would use up what all others are told. Nor is that
// without end: beyond it there is no reply.
static void refuse_too_much(BusCall *call) {
    BusCalls *calls = call->calls;
    uid_t uid = call->viewer.uid;
    uint64_t now_us = instant_now().boottime_us;
    calls->counters->refused++;
    if (!bus_rates_allow(&calls->refusals, uid, now_us))
        return;
    bus_rates_pay(&calls->refusals, uid, ERROR_SIZE, now_us);
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    const sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(
        SD_BUS_ERROR_LIMITS_EXCEEDED, "Too much is asked for: it goes on in a while.");
    if (sd_bus_message_new_method_error(call->message, &reply, &error) >= 0)
        send_unpaid(call, reply, ERROR_SIZE);
}

static void send_answer(BusCall *call) {
    const BusRequest *request = &call->request;
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    int r = sd_bus_message_new_method_return(call->message, &reply);
    if (r >= 0)
        r = request->answer(reply, request, call->calls->context, &call->viewer);
    if (r == -ESRCH) {
        char text[64];
        snprintf(text, sizeof text, "There is no process %d.", request->pid);
        send_error(call, DISCOVERY_BUS_NAME ".NoSuchProcess", text);
    } else if (r < 0) {
        send_failure(call, r);
    } else {
        send_reply(call, reply, (size_t)r + ERROR_SIZE);
    }
}

// ---- lists

static void end_list(BusCall *call) {
    BusCalls *calls = call->calls;
    TAILQ_REMOVE(&calls->lists, call, link);
    calls->counters->calls--;
    call_free(call);
}

static bool is_allowed(BusCalls *calls, uid_t uid) {
    return bus_rates_allow(&calls->rates, uid, instant_now().boottime_us);
}

// Begins the list, or collects the next part, or sends it. As bus_listing_step().
static int step(BusCall *call) {
    if (!call->listing.reply) {
        int r = bus_listing_begin(&call->listing, call->message);
        if (r < 0)
            return r;
    }
    int result = bus_listing_step(&call->listing);
    if (result != BUS_LISTING_DONE)
        return result;
    int r = sd_bus_message_send(call->listing.reply);
    pay(call, call->listing.size);
    return r < 0 ? r : BUS_LISTING_DONE;
}

static int on_collect(sd_event_source *source __attribute__((unused)),
                      uint64_t now __attribute__((unused)), void *userdata) {
    BusCalls *calls = userdata;
    BusCall *call = TAILQ_FIRST(&calls->lists);
    // Those before it may have used up what this one's user may be told.
    if (!call->listing.reply && !is_allowed(calls, call->viewer.uid)) {
        refuse_too_much(call);
        end_list(call);
        return 0;
    }
    int result = step(call);
    if (result < 0) {
        send_failure(call, result);
    } else if (result == BUS_LISTING_TOO_LARGE) {
        // Collecting it was work, too.
        pay(call, call->listing.size);
        send_error(call, SD_BUS_ERROR_LIMITS_EXCEEDED,
                   "The list is too long for the bus. Give a filter, or use the Varlink interface "
                   "org.dotnetdiscovery.Manager.");
    }
    if (result != BUS_LISTING_MORE)
        end_list(call);
    return 0;
}

static bool is_list_over_limit(const BusCalls *calls, uid_t uid) {
    size_t count = 0, of_uid = 0, others = 0;
    const BusCall *call;
    TAILQ_FOREACH(call, &calls->lists, link) {
        count++;
        of_uid += call->viewer.uid == uid;
        others += call->viewer.uid != 0;
    }
    if (uid == 0)
        return count >= BOUND_BUS_LISTS;
    return of_uid >= BOUND_BUS_LISTS_PER_UID ||
           others >= BOUND_BUS_LISTS - BOUND_BUS_LISTS / BOUND_ROOT_DIVISOR;
}

static void begin_list(BusCall *call) {
    BusCalls *calls = call->calls;
    if (is_list_over_limit(calls, call->viewer.uid)) {
        refuse(call, "Too many lists are being collected.");
        call_free(call);
        return;
    }
    call->listing = (BusListing){
        .context = calls->context, .viewer = call->viewer, .filter = &call->request.filter};
    calls->counters->calls++;
    TAILQ_INSERT_TAIL(&calls->lists, call, link);
}

// ---- calls

// Takes the call.
static void perform(BusCall *call) {
    const BusRequest *request = &call->request;
    if (!is_allowed(call->calls, call->viewer.uid)) {
        refuse_too_much(call);
    } else if (!request->answer && !request->error) {
        begin_list(call);
        return;
    } else if (request->answer) {
        send_answer(call);
    } else {
        send_error(call, request->error, request->text);
    }
    call_free(call);
}

static bool has_unsent(const BusCall *call) {
    uint64_t count = 0;
    return sd_bus_get_n_queued_write(sd_bus_message_get_bus(call->message), &count) >= 0 &&
           count > 0;
}

static bool is_full(const BusCalls *calls, uid_t uid) {
    return uid != 0 &&
           (calls->queued_of_place[uid % BOUND_BUS_PLACES] >= BOUND_BUS_CALLS / BOUND_UID_DIVISOR ||
            calls->queued_count >= BOUND_BUS_CALLS);
}

// Takes the call of a caller that is known.
static void go_on(BusCall *call, const Viewer *viewer) {
    BusCalls *calls = call->calls;
    call->viewer = *viewer;
    if (viewer->uid == 0 || (TAILQ_EMPTY(&calls->queued) && !has_unsent(call))) {
        perform(call);
        return;
    }
    if (is_full(calls, viewer->uid)) {
        calls->counters->refused++;
        call_free(call);
        return;
    }
    TAILQ_INSERT_TAIL(&calls->queued, call, link);
    calls->queued_of_place[viewer->uid % BOUND_BUS_PLACES]++;
    calls->queued_count++;
    calls->counters->calls++;
}

static BusCall *take_queued(BusCalls *calls) {
    BusCall *call = TAILQ_FIRST(&calls->queued);
    if (!call)
        return NULL;
    TAILQ_REMOVE(&calls->queued, call, link);
    calls->queued_of_place[call->viewer.uid % BOUND_BUS_PLACES]--;
    calls->queued_count--;
    calls->counters->calls--;
    return call;
}

// After every other event: one of them is that the bus takes what was sent.
void bus_calls_turn(BusCalls *calls) {
    while (!TAILQ_EMPTY(&calls->queued) && !has_unsent(TAILQ_FIRST(&calls->queued)))
        perform(take_queued(calls));
    const BusCall *first = TAILQ_FIRST(&calls->lists);
    // One that is begun goes on, and its end is sent behind what was sent meanwhile.
    bool collects = first && (first->listing.reply || !has_unsent(first));
    sd_event_source_set_enabled(calls->collect, collects ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static BusCall *take_waiting(BusCaller *caller, BusCalls *calls) {
    BusCall *call = TAILQ_FIRST(&caller->waiting);
    if (!call)
        return NULL;
    TAILQ_REMOVE(&caller->waiting, call, link);
    caller->waiting_count--;
    calls->waiting_count--;
    calls->counters->calls--;
    return call;
}

static void on_told(BusCaller *caller, int result, void *userdata) {
    BusCalls *calls = userdata;
    BusCall *call;
    while ((call = take_waiting(caller, calls))) {
        if (result >= 0) {
            go_on(call, &caller->viewer);
            continue;
        }
        send_failure(call, result);
        call_free(call);
    }
}

// Keeps the call until it is known who calls. -ENOBUFS, other negative errnos.
static int keep(BusCalls *calls, BusCaller *caller, BusCall *call) {
    if (calls->waiting_count >= BOUND_BUS_CALLS)
        return -ENOBUFS;
    if (!caller) {
        int r = bus_callers_add(&calls->callers, sd_bus_message_get_bus(call->message),
                                sd_bus_message_get_sender(call->message), &caller);
        if (r < 0)
            return r;
    }
    if (caller->waiting_count >= BOUND_BUS_CALLS_PER_CALLER)
        return -ENOBUFS;
    TAILQ_INSERT_TAIL(&caller->waiting, call, link);
    caller->waiting_count++;
    calls->waiting_count++;
    calls->counters->calls++;
    return 0;
}

void bus_calls_take(BusCalls *calls, sd_bus_message *message) {
    // No call does anything but answer.
    const char *sender = sd_bus_message_get_sender(message);
    if (sd_bus_message_get_expect_reply(message) <= 0 || !sender)
        return;
    BusCaller *caller = bus_callers_find(&calls->callers, sender);
    // Before anything is spent on it.
    if (caller && caller->known && is_full(calls, caller->viewer.uid)) {
        calls->counters->refused++;
        return;
    }
    _cleanup_(call_freep) BusCall *call = NULL;
    int r = call_new(calls, message, &call);
    if (r < 0) {
        log_debug("Cannot take a call over the bus: %s", strerror(-r));
        return;
    }
    if (caller && caller->known) {
        go_on(TAKE_PTR(call), &caller->viewer);
        return;
    }
    r = keep(calls, caller, call);
    if (r >= 0)
        TAKE_PTR(call);
    else if (r != -ENOBUFS)
        send_failure(call, r);
    else if (has_unsent(call)) // nothing is put in root's way
        calls->counters->refused++;
    else
        refuse(call, "Too many calls at once.");
}

// ---- the whole

int bus_calls_init(BusCalls *calls, sd_event *event, const Context *context,
                   BusCounters *counters) {
    *calls = (BusCalls){
        .context = context,
        .counters = counters,
        .callers = {.group = context->group, .on_told = on_told, .userdata = calls},
    };
    TAILQ_INIT(&calls->callers.list);
    TAILQ_INIT(&calls->queued);
    TAILQ_INIT(&calls->lists);
    // Due as soon as it is enabled, and in turn with the other events: a defer source would come
    // before all of them.
    int r = sd_event_add_time(event, &calls->collect, CLOCK_MONOTONIC, 0, 0, on_collect, calls);
    return r < 0 ? r : sd_event_source_set_enabled(calls->collect, SD_EVENT_OFF);
}

void bus_calls_clear(BusCalls *calls) {
    BusCaller *caller;
    while ((caller = TAILQ_FIRST(&calls->callers.list))) {
        BusCall *call;
        while ((call = take_waiting(caller, calls)))
            call_free(call);
        bus_callers_forget(caller);
    }
    BusCall *call;
    while ((call = take_queued(calls)))
        call_free(call);
    while ((call = TAILQ_FIRST(&calls->lists)))
        end_list(call);
    bus_calls_turn(calls);
}

void bus_calls_done(BusCalls *calls) {
    bus_calls_clear(calls);
    sd_event_source_disable_unref(calls->collect);
}
