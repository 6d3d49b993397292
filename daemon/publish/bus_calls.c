// Who calls is asked of the bus, which knows the uid and the groups that the caller had when it
// connected; /proc would tell of whoever has the pid by then. Until the answer comes the caller's
// uid is unknown, so what waits for it is bounded in all alone. What is kept of such a call is
// small: its arguments have been read and found sensible.
//
// Lists are collected one at a time, and none is begun before the bus has taken what was sent
// before: so there are never two long replies in memory, however slowly the bus reads.
// SPDX-License-Identifier: MIT
#include "bus_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "bus_listing.h"
#include "cleanup.h"
#include "log.h"

typedef struct BusCall {
    TAILQ_ENTRY(BusCall) link; // BusCalls::asked or ::lists
    BusCalls *calls;           // borrowed
    sd_bus_message *message;   // owned
    sd_bus_slot *slot;         // owned, while asked who calls
    BusRequest request;        // owned
    Viewer viewer;
    BusListing listing;
} BusCall;

static void call_free(BusCall *call) {
    bus_listing_done(&call->listing);
    filter_done(&call->request.filter);
    sd_bus_slot_unref(call->slot);
    sd_bus_message_unref(call->message);
    free(call);
}
DEFINE_CLEANUP(BusCall *, call_free);

static void end_call(BusCall *call, BusCallList *list) {
    TAILQ_REMOVE(list, call, link);
    call->calls->counters->calls--;
    call_free(call);
}

// A caller that has gone meanwhile is not missed: the bus drops the reply.
static void end_failed(BusCall *call, BusCallList *list, int error) {
    log_debug("Cannot answer a call over the bus: %s", strerror(-error));
    sd_bus_reply_method_errno(call->message, error, NULL);
    end_call(call, list);
}

static void end_refused(BusCall *call, BusCallList *list, const char *text) {
    sd_bus_reply_method_errorf(call->message, SD_BUS_ERROR_LIMITS_EXCEEDED, "%s", text);
    end_call(call, list);
}

// ---- lists

static bool has_unsent(const BusCall *call) {
    uint64_t count = 0;
    return sd_bus_get_n_queued_write(sd_bus_message_get_bus(call->message), &count) >= 0 &&
           count > 0;
}

static void arm(BusCalls *calls) {
    const BusCall *first = TAILQ_FIRST(&calls->lists);
    bool waits = first && has_unsent(first);
    sd_event_source_set_enabled(calls->collect, first && !waits ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
    sd_event_source_set_enabled(calls->turn, waits ? SD_EVENT_ON : SD_EVENT_OFF);
}

// After every other event: one of them is that the bus takes what was sent.
static int on_turn(sd_event_source *source __attribute__((unused)), void *userdata) {
    arm(userdata);
    return 0;
}

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
    return r < 0 ? r : BUS_LISTING_DONE;
}

static int on_collect(sd_event_source *source __attribute__((unused)),
                      uint64_t now __attribute__((unused)), void *userdata) {
    BusCalls *calls = userdata;
    BusCall *call = TAILQ_FIRST(&calls->lists);
    int result = step(call);
    if (result < 0)
        end_failed(call, &calls->lists, result);
    else if (result == BUS_LISTING_TOO_LARGE)
        end_refused(call, &calls->lists,
                    "The list is too long for the bus. Give a filter, or use the Varlink "
                    "interface org.dotnetdiscovery.Manager.");
    else if (result == BUS_LISTING_DONE)
        end_call(call, &calls->lists);
    arm(calls);
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
        calls->counters->refused++;
        end_refused(call, &calls->asked, "Too many lists are being collected.");
        return;
    }
    call->listing = (BusListing){
        .context = calls->context, .viewer = call->viewer, .filter = &call->request.filter};
    TAILQ_REMOVE(&calls->asked, call, link);
    TAILQ_INSERT_TAIL(&calls->lists, call, link);
    arm(calls);
}

// ---- who calls

bool bus_is_from(sd_bus_message *message, const char *sender) {
    const char *name = sd_bus_message_get_sender(message);
    return name && strcmp(name, sender) == 0;
}

static int read_groups(sd_bus_message *reply, gid_t group, bool *ret_member) {
    const void *bytes;
    size_t size;
    int r = sd_bus_message_enter_container(reply, SD_BUS_TYPE_VARIANT, "au");
    if (r >= 0)
        r = sd_bus_message_read_array(reply, SD_BUS_TYPE_UINT32, &bytes, &size);
    if (r < 0)
        return r;
    const uint32_t *groups = bytes;
    for (size_t i = 0; i < size / sizeof *groups; i++)
        if (group != GROUP_UNKNOWN && groups[i] == group)
            *ret_member = true;
    return sd_bus_message_exit_container(reply);
}

static int read_credential(sd_bus_message *reply, gid_t group, uid_t *ret_uid, bool *ret_member) {
    const char *key;
    int r = sd_bus_message_read(reply, "s", &key);
    if (r < 0)
        return r;
    if (strcmp(key, "UnixUserID") == 0)
        return sd_bus_message_read(reply, "v", "u", ret_uid);
    if (strcmp(key, "UnixGroupIDs") == 0)
        return read_groups(reply, group, ret_member);
    return sd_bus_message_skip(reply, "v");
}

// Whoever may send us replies could guess the number of the question: only the bus's own is taken.
static int read_viewer(sd_bus_message *reply, gid_t group, Viewer *ret) {
    if (sd_bus_message_is_method_error(reply, NULL))
        return -sd_bus_message_get_errno(reply);
    if (!bus_is_from(reply, BUS_DRIVER))
        return -EPERM;
    uid_t uid = UID_UNKNOWN;
    bool member = false;
    int r = sd_bus_message_enter_container(reply, SD_BUS_TYPE_ARRAY, "{sv}");
    while (r >= 0) {
        r = sd_bus_message_enter_container(reply, SD_BUS_TYPE_DICT_ENTRY, "sv");
        if (r <= 0)
            break;
        r = read_credential(reply, group, &uid, &member);
        if (r >= 0)
            r = sd_bus_message_exit_container(reply);
    }
    if (r < 0)
        return r;
    if (uid == UID_UNKNOWN)
        return -ENODATA;
    *ret = (Viewer){.uid = uid, .sees_all = uid == 0 || member};
    return 0;
}

static int on_credentials(sd_bus_message *reply, void *userdata,
                          sd_bus_error *error __attribute__((unused))) {
    BusCall *call = userdata;
    BusCalls *calls = call->calls;
    call->slot = sd_bus_slot_unref(call->slot);
    int r = read_viewer(reply, calls->context->group, &call->viewer);
    if (r >= 0 && !call->request.answer) {
        begin_list(call);
        return 0;
    }
    if (r >= 0)
        r = call->request.answer(call->message, &call->request, calls->context, &call->viewer);
    if (r < 0)
        end_failed(call, &calls->asked, r);
    else
        end_call(call, &calls->asked);
    return 0;
}

static int ask(BusCall *call) {
    sd_bus *bus = sd_bus_message_get_bus(call->message);
    return sd_bus_call_method_async(bus, &call->slot, BUS_DRIVER, "/org/freedesktop/DBus",
                                    BUS_DRIVER, "GetConnectionCredentials", on_credentials, call,
                                    "s", sd_bus_message_get_sender(call->message));
}

int bus_calls_take(BusCalls *calls, sd_bus_message *message, BusRequest *request,
                   sd_bus_error *error) {
    _cleanup_(call_freep) BusCall *call = calloc(1, sizeof *call);
    if (!call) {
        filter_done(&request->filter);
        return -ENOMEM;
    }
    call->calls = calls;
    call->request = *request;
    call->message = sd_bus_message_ref(message);
    // No call does anything but answer.
    if (sd_bus_message_get_expect_reply(message) <= 0 || !sd_bus_message_get_sender(message))
        return 1;
    if (calls->counters->calls >= BOUND_BUS_CALLS) {
        calls->counters->refused++;
        return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "Too many calls at once.");
    }
    int r = ask(call);
    if (r < 0)
        return r;
    calls->counters->calls++;
    TAILQ_INSERT_TAIL(&calls->asked, call, link);
    TAKE_PTR(call);
    return 1;
}

// ---- the whole

int bus_calls_init(BusCalls *calls, sd_event *event, const Context *context,
                   BusCounters *counters) {
    *calls = (BusCalls){.context = context, .counters = counters};
    TAILQ_INIT(&calls->asked);
    TAILQ_INIT(&calls->lists);
    // Due as soon as it is enabled, and in turn with the other events: a defer source would come
    // before all of them.
    int r = sd_event_add_time(event, &calls->collect, CLOCK_MONOTONIC, 0, 0, on_collect, calls);
    if (r >= 0)
        r = sd_event_add_post(event, &calls->turn, on_turn, calls);
    if (r >= 0)
        arm(calls);
    return r;
}

void bus_calls_clear(BusCalls *calls) {
    while (!TAILQ_EMPTY(&calls->asked))
        end_call(TAILQ_FIRST(&calls->asked), &calls->asked);
    while (!TAILQ_EMPTY(&calls->lists))
        end_call(TAILQ_FIRST(&calls->lists), &calls->lists);
    arm(calls);
}

void bus_calls_done(BusCalls *calls) {
    bus_calls_clear(calls);
    sd_event_source_disable_unref(calls->collect);
    sd_event_source_disable_unref(calls->turn);
}
