// What publishers need to know of the rest of the daemon, filled in by whoever owns it.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-id128.h>

#include "filter.h"
#include "registry.h"

// A way to notice processes.
typedef struct StatusMechanism {
    const char *name;
    bool used;
    const char *cost;   // to the host, or what it does not notice
    const char *detail; // why it is not used; NULL for none
} StatusMechanism;

typedef struct StatusProgram {
    const char *name;
    const char *kind;
    bool attached;
    const char *detail; // NULL for none
} StatusProgram;

typedef struct StatusCounter {
    const char *name;
    uint64_t value;
    bool is_public; // tells nobody what or whose a process is: shown to all
} StatusCounter;

enum { STATUS_MECHANISMS = 6, STATUS_PROGRAMS = 8, STATUS_COUNTERS = 32, STATUS_DEGRADED = 16 };

// All strings are borrowed and live until the next collect().
typedef struct Status {
    StatusMechanism mechanisms[STATUS_MECHANISMS]; // the cheapest first
    size_t mechanism_count;
    uint64_t scan_interval_us; // of scans that come by themselves; 0: none do
    StatusProgram programs[STATUS_PROGRAMS];
    size_t program_count;
    StatusCounter counters[STATUS_COUNTERS];
    size_t counter_count;
    const char *degraded[STATUS_DEGRADED]; // what is missing and what it costs, a sentence each
    size_t degraded_count;
} Status;

typedef struct CheckItem {
    const char *name; // static
    bool ok;
    char *detail; // owned, NULL for none; text of a process is escaped already
} CheckItem;

typedef struct CheckItems {
    CheckItem items[24];
    size_t count;
} CheckItems;
void check_items_done(CheckItems *items);

// The name of the mechanism in use.
const char *status_mechanism(const Status *status);

// What a publisher is made with; all borrowed, all outlive it.
typedef struct Context {
    const Registry *registry;
    gid_t group; // whose members see everything; GROUP_UNKNOWN: root alone does
    sd_id128_t boot_id;
    sd_id128_t run_id;
    uint64_t started_realtime_us;
    void *userdata;
    void (*collect)(void *userdata, Status *ret);
    // Starts a check: of the machine (pid 0) or of a process. varlink_server_check_done() ends it,
    // perhaps before this returns. -ESRCH: no such process. -ENOMEM.
    int (*check)(void *userdata, pid_t pid, uint64_t token);
    // Ends a check whose client has gone; that it has ended already is no error.
    void (*check_cancel)(void *userdata, uint64_t token);
} Context;

// What one caller is told of the daemon, whatever the transport.
typedef struct StatusReport {
    Status status;                    // without the counters that it may not see
    uint64_t processes[STATE_COUNT_]; // those that it sees, by state
    char run_id[SD_ID128_STRING_MAX];
    char kernel_release[65]; // of struct utsname
    uint64_t started_realtime_us;
    uint64_t sequence;
} StatusReport;
void status_report(const Context *context, const Viewer *viewer, StatusReport *ret);

// The parameters of the replies of Status and Check. The caller owns the result; NULL when out of
// memory.
json_t *status_json(const Context *context, const Viewer *viewer);
json_t *check_items_json(const CheckItems *items);
