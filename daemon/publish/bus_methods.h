// The methods and properties of org.dotnetdiscovery1.Manager.
// SPDX-License-Identifier: MIT
#pragma once

#include "bus_calls.h"

// For sd_bus_add_object_vtable(), with a BusCalls as userdata.
extern const sd_bus_vtable bus_methods_vtable[];

// Takes calls for properties that depend on who calls, which no getter of sd-bus can wait for. 0:
// it is no such call; else as a handler of sd-bus.
int bus_methods_filter(BusCalls *calls, sd_bus_message *message, sd_bus_error *error);
