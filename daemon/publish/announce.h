// What the administrator and the service manager are told: journal entries with fixed MESSAGE_IDs
// where there is a journal, lines on standard error otherwise; sd_notify(3).
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include "action.h"
#include "throttle.h"

// One entry for ready, unreachable and gone; detected is logged at debug level. Those beyond what
// the throttle lets pass are counted in an entry in front of the next that passes.
void announce_change(const Action *change, Throttle *throttle, uint64_t now_us);
// The kernel side lost `count` records; a rescan follows. False where the throttle holds it back.
bool announce_lost(uint64_t count, Throttle *throttle, uint64_t now_us);
// Something is missing from now on: what, and what it costs. False as above.
bool announce_degraded(const char *what, Throttle *throttle, uint64_t now_us);

// By what processes are noticed in this run; `text` says it in full.
void announce_mechanism(int priority, const char *name, const char *cost, const char *text);

void announce_ready(void);
// STATUS=, by what processes are noticed and whether something is missing. Everybody can read it,
// so it tells nothing of processes.
void announce_status(const char *mechanism, bool degraded);
void announce_stopping(void);
