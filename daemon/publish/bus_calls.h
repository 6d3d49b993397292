// Calls over the bus, each from its arrival to its reply: in between the bus is asked who calls,
// and a list is collected. Nothing waits for any of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "bus.h"
#include "bus_callers.h"
#include "bus_rates.h"
#include "filter.h"
#include "status.h"

// What is asked.
typedef struct BusRequest {
    // Completes the reply. Its size, about; -ESRCH: there is no such process; other negative
    // errnos of sd-bus.
    int (*answer)(sd_bus_message *reply, const struct BusRequest *request, const Context *context,
                  const Viewer *viewer);
    const char *error; // where `answer` is NULL: the name of the error that is the reply, static;
                       // NULL: the call wants the list of all that matches the filter
    char text[128];    // of the error
    pid_t pid;
    const char *property; // static
    const char *path;     // static
    Filter filter;        // owned
} BusRequest;

typedef struct BusCalls {
    const Context *context; // borrowed
    BusCounters *counters;  // borrowed
    BusCallers callers;
    BusRates rates;
    BusRates refusals;    // told to those who have used up theirs
    size_t waiting_count; // for the bus to say who calls
    BusCallList queued;   // of others than root, until the bus has taken what was sent; each owned
    size_t queued_count;
    size_t queued_of_place[BOUND_BUS_PLACES];
    BusCallList lists;        // collected one after another; each owned
    sd_event_source *collect; // on while a list can be collected
    size_t unsent_bytes;      // told since the bus had taken all, lists aside, about; set to 0 by
                              // the owner
} BusCalls;

int bus_calls_init(BusCalls *calls, sd_event *event, const Context *context, BusCounters *counters);
void bus_calls_done(BusCalls *calls);

// Ends all, without a reply: their connection is no more.
void bus_calls_clear(BusCalls *calls);

void bus_calls_take(BusCalls *calls, sd_bus_message *message);

// To be called after every turn of the loop.
void bus_calls_turn(BusCalls *calls);
