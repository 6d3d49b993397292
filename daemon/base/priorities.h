// In what order the event loop takes what waits, all over the daemon: the smallest first. 0 is what
// a source has that asks for none: what clients want, timers, probes.
// SPDX-License-Identifier: MIT
#pragma once

enum {
    // Records go first, for they are what is waited for; an exit comes next.
    PRIORITY_RECORDS = -20,
    PRIORITY_EXITS = -10,
    // Tells the clients of all that these brought, together.
    PRIORITY_FLUSH = -5,
    // A scan takes its turns among everybody else, and so does what is left of a storm of records.
    PRIORITY_TURNS = 0,
};
