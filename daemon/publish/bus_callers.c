// A client asks again and again, and few do: hence a list with the last at its front.
// SPDX-License-Identifier: MIT
#include "bus_callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"

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
    BusCaller *caller = userdata;
    BusCallers *callers = caller->callers;
    caller->slot = sd_bus_slot_unref(caller->slot);
    int r = read_viewer(reply, callers->group, &caller->viewer);
    caller->known = r >= 0;
    callers->on_told(caller, r, callers->userdata);
    if (r < 0)
        bus_callers_forget(caller);
    return 0;
}

BusCaller *bus_callers_find(BusCallers *callers, const char *name) {
    BusCaller *caller;
    TAILQ_FOREACH(caller, &callers->list, link) {
        if (strcmp(caller->name, name) != 0)
            continue;
        TAILQ_REMOVE(&callers->list, caller, link);
        TAILQ_INSERT_HEAD(&callers->list, caller, link);
        return caller;
    }
    return NULL;
}

// Forgets the one that has not called for longest, of those that can be asked for again.
static bool make_room(BusCallers *callers) {
    if (callers->count < BOUND_BUS_CALLERS)
        return true;
    BusCaller *caller;
    TAILQ_FOREACH_REVERSE(caller, &callers->list, BusCallerList, link) {
        if (caller->known) {
            bus_callers_forget(caller);
            return true;
        }
    }
    return false;
}

int bus_callers_add(BusCallers *callers, sd_bus *bus, const char *name, BusCaller **ret) {
    if (strlen(name) >= sizeof(*ret)->name)
        return -ENAMETOOLONG;
    if (!make_room(callers))
        return -ENOBUFS;
    BusCaller *caller = calloc(1, sizeof *caller);
    if (!caller)
        return -ENOMEM;
    caller->callers = callers;
    TAILQ_INIT(&caller->waiting);
    memcpy(caller->name, name, strlen(name) + 1);
    int r = sd_bus_call_method_async(bus, &caller->slot, BUS_DRIVER, "/org/freedesktop/DBus",
                                     BUS_DRIVER, "GetConnectionCredentials", on_credentials, caller,
                                     "s", name);
    if (r < 0) {
        free(caller);
        return r;
    }
    TAILQ_INSERT_HEAD(&callers->list, caller, link);
    callers->count++;
    *ret = caller;
    return 0;
}

void bus_callers_forget(BusCaller *caller) {
    TAILQ_REMOVE(&caller->callers->list, caller, link);
    caller->callers->count--;
    sd_bus_slot_unref(caller->slot);
    free(caller);
}
