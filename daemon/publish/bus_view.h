// What the bus shows, as D-Bus types. A key is the Varlink name with its first letter raised; an
// absent field has no key.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-bus.h>

#include "filter.h"
#include "status.h"

// Appends a process as a{sv}; *size grows by about what it takes. A negative errno of sd-bus.
int bus_view_process(sd_bus_message *message, const Process *process, sd_id128_t boot_id,
                     size_t *size);

// Append the reply of GetStatus and all properties, each as a{sv}; the value of Degraded.
int bus_view_status(sd_bus_message *message, const StatusReport *report);
int bus_view_properties(sd_bus_message *message, const StatusReport *report);
int bus_view_degraded(sd_bus_message *message, const Status *status);

// Reads a filter, a{sv}. -EINVAL: *ret_name is the key at fault, borrowed from the message, or NULL
// where there are more entries than a filter has members.
// -ENOMEM; other negative errnos of sd-bus: the message is malformed.
int bus_view_filter(sd_bus_message *message, Filter *ret, const char **ret_name);
