// How the daemon itself is: what Status tells, and what the administrator hears of by itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "bus.h"
#include "mechanism.h"
#include "probe.h"
#include "registry.h"
#include "source.h"
#include "status.h"
#include "throttle.h"
#include "varlink_server.h"

// What can be wrong, beside programs that are missing.
typedef enum Trouble {
    TROUBLE_MECHANISM,
    TROUBLE_SCANS_ONLY,
    TROUBLE_PRIVILEGES,
    TROUBLE_OVERFLOW,
    TROUBLE_NOT_FOLLOWED,
    TROUBLE_SCANS_FAIL,
    TROUBLE_NOT_ASKED,
    TROUBLE_BUS,
    TROUBLE_COUNT_,
} Trouble;

// The parts are borrowed.
typedef struct Overview {
    const Source *source;
    const Registry *registry;
    ProbePool *probes;
    const VarlinkServer *varlink;
    const Bus *bus;
    MechanismId wanted;
    bool programs_announced;
    bool announced[TROUBLE_COUNT_]; // told since that trouble is there
    char mechanism_text[512];
    char scans_only_text[128];
    char privileges_text[256]; // "" where none is missing
    char not_asked_text[160];
    uint64_t lost_announced;
    unsigned troubles;     // a bit for each that there was when overview_changed() was asked last
    uint64_t not_followed; // lives ended for lack of a descriptor or memory
} Overview;

// Looks for what stays as it is at the start.
void overview_init(Overview *overview, const Source *source, const Registry *registry,
                   ProbePool *probes, MechanismId wanted);

void overview_collect(Overview *overview, Status *ret);

// Logs, once each: programs that are missing, records lost since they were told last, troubles.
// What the throttle holds back is told at a later call.
void overview_announce(Overview *overview, Throttle *throttle, uint64_t now_us);

// Whether what Status says of `degraded` has changed since this was asked last. `mechanism` and the
// programs stay as they are at the start.
bool overview_changed(Overview *overview);
