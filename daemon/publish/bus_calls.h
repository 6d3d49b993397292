// Calls over the bus, each from its arrival to its reply: in between the bus is asked who calls,
// and a list is collected. Nothing waits for any of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/queue.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "bus.h"
#include "filter.h"
#include "status.h"

// The bus itself.
#define BUS_DRIVER "org.freedesktop.DBus"
bool bus_is_from(sd_bus_message *message, const char *sender);

// What is asked.
typedef struct BusRequest {
    // Replies to the call; a negative errno of sd-bus is replied by the caller. NULL: the call
    // wants the list of all that matches the filter.
    int (*answer)(sd_bus_message *call, const struct BusRequest *request, const Context *context,
                  const Viewer *viewer);
    pid_t pid;
    Filter filter; // owned
} BusRequest;

typedef TAILQ_HEAD(BusCallList, BusCall) BusCallList;

typedef struct BusCalls {
    const Context *context;   // borrowed
    BusCounters *counters;    // borrowed
    BusCallList asked;        // the bus has been asked who calls; each owned
    BusCallList lists;        // collected one after another; each owned
    sd_event_source *collect; // on while a list can be collected
    sd_event_source *turn;    // on while the first list waits for the bus
} BusCalls;

int bus_calls_init(BusCalls *calls, sd_event *event, const Context *context, BusCounters *counters);
void bus_calls_done(BusCalls *calls);

// Ends all, without a reply: their connection is no more.
void bus_calls_clear(BusCalls *calls);

// Takes a call, and what *request owns, also on failure. As a handler of sd-bus: a negative errno
// or *error is the reply.
int bus_calls_take(BusCalls *calls, sd_bus_message *message, BusRequest *request,
                   sd_bus_error *error);
