// Owns everything and is the only place where anything turns round: inputs from source and probe go
// to the registry, its actions go to source, probe and publish.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-event.h>

#include "options.h"

typedef struct Manager Manager;

// Opens the status socket, loads and attaches the kernel programs, scans, then serves. A message
// has been logged where it fails: -EADDRINUSE where another daemon serves the socket. The caller
// owns *ret and runs the loop of `event`.
int manager_new(sd_event *event, const Options *options, Manager **ret);
void manager_free(Manager *manager);
