// Who calls over the bus: asked of the bus once for each client, and remembered, since neither the
// credentials of a unique name change nor is it given to another as long as the bus lives.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/queue.h>
#include <systemd/sd-bus.h>

#include "filter.h"

// The bus itself.
#define BUS_DRIVER "org.freedesktop.DBus"
bool bus_is_from(sd_bus_message *message, const char *sender);

typedef TAILQ_HEAD(BusCallList, BusCall) BusCallList;

typedef struct BusCaller {
    TAILQ_ENTRY(BusCaller) link;
    struct BusCallers *callers; // borrowed
    sd_bus_slot *slot;          // owned, while the bus is asked
    bool known;
    Viewer viewer;       // once it is known
    BusCallList waiting; // the calls that wait for that; whoever adds them takes them away again
    size_t waiting_count;
    char name[64];
} BusCaller;

typedef struct BusCallers {
    gid_t group;
    // The bus has told who this is, or, with a negative errno, not: it is then forgotten. Takes
    // away the calls that wait.
    void (*on_told)(BusCaller *caller, int result, void *userdata);
    void *userdata;
    TAILQ_HEAD(BusCallerList, BusCaller) list; // who called last is first; each owned
    size_t count;
} BusCallers;

// NULL: not called yet, or forgotten.
BusCaller *bus_callers_find(BusCallers *callers, const char *name);

// Asks for one that is not there. -ENOBUFS: too many are being asked for. *ret is borrowed.
int bus_callers_add(BusCallers *callers, sd_bus *bus, const char *name, BusCaller **ret);

// Nothing waits any more.
void bus_callers_forget(BusCaller *caller);
