// The methods and properties of org.dotnetdiscovery1.Manager, and those that every object has.
// SPDX-License-Identifier: MIT
#pragma once

#include "bus_calls.h"

// What a call asks for, or the error that it gets. Owned by the caller, also on failure. -ENOMEM.
int bus_methods_read(sd_bus_message *message, BusRequest *ret);
