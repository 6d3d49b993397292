// What the bus shows, as D-Bus types. A key is the Varlink name with its first letter raised; an
// absent field has no key.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-bus.h>

#include "filter.h"
#include "status.h"

// Whether a bus takes this text: UTF-8 without the noncharacters, which not all implementations
// take.
bool bus_view_is_sendable(const char *text);

// Appends a process as a{sv}; *size grows by about what it takes. A field with a text that cannot
// be sent is left out: one process must not cost a list all others. A negative errno of sd-bus.
int bus_view_process(sd_bus_message *message, const Process *process, sd_id128_t boot_id,
                     size_t *size);

// Append the reply of GetStatus and all properties, each as a{sv}.
int bus_view_status(sd_bus_message *message, const StatusReport *report);
int bus_view_properties(sd_bus_message *message, const StatusReport *report);

// The value of one of them, by its name, as a variant.
int bus_view_property(sd_bus_message *message, const char *name, const StatusReport *report);

// The body of PropertiesChanged.
int bus_view_changed(sd_bus_message *message, const Status *status);

// Reads a filter, a{sv}. -EINVAL: *ret_name is the key at fault, borrowed from the message, or NULL
// where there are more entries than a filter has members.
// -ENOMEM; other negative errnos of sd-bus: the message is malformed.
int bus_view_filter(sd_bus_message *message, Filter *ret, const char **ret_name);
