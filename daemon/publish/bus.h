// org.dotnetdiscovery1 on the system bus. The bus is a convenience: one that is missing, restarting
// or slow delays nobody, and the name is taken again when it returns.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-event.h>

#include "action.h"
#include "status.h"

typedef struct Bus Bus;

typedef struct BusCounters {
    size_t calls;             // being answered
    uint64_t refused;         // calls over a limit
    uint64_t signals_dropped; // since the bus did not take them
} BusCounters;

// Connects in the background, and again whenever the connection ends. `address` is that of the bus,
// NULL: DBUS_SYSTEM_BUS_ADDRESS or the usual one; borrowed. Fails for lack of memory or descriptors
// only. The caller owns *ret.
int bus_new(sd_event *event, const Context *context, const char *address, Bus **ret);
void bus_free(Bus *bus);

// Emits ProcessChanged for an ACTION_PUBLISH. Nothing is sent while the name is not ours.
void bus_publish(Bus *bus, const Action *action);

// Mechanism or Degraded of Status has changed; emits PropertiesChanged.
void bus_status_changed(Bus *bus);

// Why nothing is told over the bus, and what to do; static. NULL where there is no reason but that
// the bus is not there.
const char *bus_trouble(const Bus *bus);

const BusCounters *bus_counters(const Bus *bus);
