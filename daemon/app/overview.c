// Gathers what the parts count.
// SPDX-License-Identifier: MIT
#include "overview.h"

#include <stdio.h>

#include "announce.h"
#include "bounds.h"
#include "macro.h"
#include "privileges.h"

static const char overflow_text[] =
    "more processes than may be followed (--max-processes=): some are not listed; a rescan follows "
    "when there is room";

typedef struct Count {
    const char *name;
    uint64_t value;
    bool is_public; // tells nobody what or whose a process is
} Count;

static void add(Status *status, const Count *counts, size_t count) {
    for (size_t i = 0; i < count; i++)
        status->counters[status->counter_count++] =
            (StatusCounter){counts[i].name, counts[i].value, counts[i].is_public};
}

static const char not_followed_text[] =
    "some processes could not be followed for lack of descriptors or memory and were told as gone; "
    "a rescan follows when another ends; raise RLIMIT_NOFILE or lower --max-processes=";

static const char scans_fail_text[] =
    "scans for processes that run already end early: some may not be listed; another scan follows";

// NULL where the last attempt at a process was made, or no process waits for one any more.
static const char *not_asked(Overview *overview) {
    const ProbeCounters *probes = probe_counters(overview->probes);
    bool nobody_waits = probes->in_flight + probes->waiting == 0 &&
                        registry_next_deadline(overview->registry) == USEC_NEVER;
    if (probes->lack[0] == '\0' || nobody_waits)
        return NULL;
    snprintf(overview->not_asked_text, sizeof overview->not_asked_text,
             "processes are not asked, %s: they stay detected, and are tried again every second",
             probes->lack);
    return overview->not_asked_text;
}

// NULL where the mechanism is the one that was asked for.
static const char *not_wanted(Overview *overview) {
    MechanismId wanted = overview->wanted;
    if (wanted == MECHANISM_AUTO || wanted == source_mechanism(overview->source))
        return NULL;
    const Mechanism *mechanism = &source_mechanisms(overview->source)[wanted];
    snprintf(overview->mechanism_text, sizeof overview->mechanism_text,
             "--mechanism=%s is not used%s%s", mechanism->name, mechanism->detail ? ": " : "",
             mechanism->detail ? mechanism->detail : "");
    return overview->mechanism_text;
}

// The interval of the moment is no part of it: the text is told once, and stays true.
static const char *scans_only(Overview *overview) {
    if (source_scan_interval_us(overview->source) == 0)
        return NULL;
    snprintf(overview->scans_only_text, sizeof overview->scans_only_text,
             "what is not noticed is found by the next scan, of which one is made every %d to %d s",
             BOUND_SCAN_INTERVAL_MS / 1000, BOUND_SCAN_INTERVAL_MAX_MS / 1000);
    return overview->scans_only_text;
}

// NULL where there is no such trouble.
static const char *trouble_text(Overview *overview, Trouble trouble) {
    switch (trouble) {
    case TROUBLE_MECHANISM:
        return not_wanted(overview);
    case TROUBLE_SCANS_ONLY:
        return scans_only(overview);
    case TROUBLE_PRIVILEGES:
        return overview->privileges_text[0] ? overview->privileges_text : NULL;
    case TROUBLE_OVERFLOW:
        return registry_overflowed(overview->registry) ? overflow_text : NULL;
    case TROUBLE_NOT_FOLLOWED:
        return overview->not_followed > 0 ? not_followed_text : NULL;
    case TROUBLE_SCANS_FAIL:
        return source_counters(overview->source)->scans_failing > 0 ? scans_fail_text : NULL;
    case TROUBLE_NOT_ASKED:
        return not_asked(overview);
    case TROUBLE_BUS:
        return overview->bus ? bus_trouble(overview->bus) : NULL;
    case TROUBLE_COUNT_:
        break;
    }
    return NULL;
}

static void degrade(Status *status, const char *text) {
    if (status->degraded_count < ELEMENTS_OF(status->degraded))
        status->degraded[status->degraded_count++] = text;
}

static void collect_programs(const Overview *overview, Status *ret) {
    const Program *programs = source_programs(overview->source);
    _Static_assert((int)PROGRAM_COUNT_ <= (int)STATUS_PROGRAMS, "Status has no room");
    for (size_t i = 0; i < PROGRAM_COUNT_; i++) {
        ret->programs[ret->program_count++] = (StatusProgram){
            .name = programs[i].name,
            .kind = programs[i].kind,
            .attached = programs[i].attached,
            .detail = programs[i].detail,
        };
        if (!programs[i].attached)
            degrade(ret, programs[i].detail);
    }
}

static void collect_mechanisms(const Overview *overview, Status *ret) {
    const Mechanism *mechanisms = source_mechanisms(overview->source);
    _Static_assert((int)MECHANISM_COUNT_ <= (int)STATUS_MECHANISMS, "Status has no room");
    for (size_t i = 0; i < MECHANISM_COUNT_; i++)
        ret->mechanisms[ret->mechanism_count++] = (StatusMechanism){
            .name = mechanisms[i].name,
            .used = mechanisms[i].used,
            .cost = mechanisms[i].cost,
            .detail = mechanisms[i].detail,
        };
    ret->scan_interval_us = source_scan_interval_us(overview->source);
}

void overview_init(Overview *overview, const Source *source, const Registry *registry,
                   ProbePool *probes, MechanismId wanted) {
    *overview =
        (Overview){.source = source, .registry = registry, .probes = probes, .wanted = wanted};
    char missing[sizeof overview->privileges_text / 2];
    if (privileges_missing(PRIVILEGES_OF_PROCESSES, missing, sizeof missing) >= 0 && missing[0])
        snprintf(overview->privileges_text, sizeof overview->privileges_text,
                 "missing %s: other users' processes are unreachable", missing);
}

void overview_collect(Overview *overview, Status *ret) {
    *ret = (Status){0};
    collect_mechanisms(overview, ret);
    collect_programs(overview, ret);
    for (Trouble trouble = 0; trouble < TROUBLE_COUNT_; trouble++) {
        const char *text = trouble_text(overview, trouble);
        if (text)
            degrade(ret, text);
    }

    const SourceCounters *source = source_counters(overview->source);
    const RegistryCounters *registry = registry_counters(overview->registry);
    const ProbeCounters *probes = probe_counters(overview->probes);
    const VarlinkCounters *varlink = varlink_server_counters(overview->varlink);
    const BusCounters *bus = bus_counters(overview->bus);
    const Count counts[] = {
        {"records", source->records, false},
        {"recordsBad", source->records_bad, true},
        {"recordsLost", source->records_lost, true},
        {"rescans", source->rescans, true},
        {"scanFailures", source->scan_failures, true},
        {"signals", registry->signals, false},
        {"signalsStale", registry->signals_stale, false},
        {"refusedFull", registry->refused_full, false},
        {"refusedQuota", registry->refused_quota, false},
        {"execs", registry->execs, false},
        {"droppedOwners", registry->dropped_owners, false},
        {"vanished", registry->vanished, false},
        {"notFollowed", overview->not_followed, true},
        {"attempts", probes->attempts, false},
        {"answered", probes->answered, false},
        {"failed", probes->failed, false},
        {"attemptsNotMade", probes->not_made, true},
        {"attemptsInFlight", probes->in_flight, false},
        {"attemptsWaiting", probes->waiting, false},
        {"looksStuck", probes->stuck, false},
        {"connections", varlink->connections, false},
        {"subscribers", varlink->subscribers, false},
        {"connectionsRefused", varlink->refused, false},
        {"connectionsMalformed", varlink->malformed, false},
        {"overruns", varlink->overruns, false},
        {"acceptPauses", varlink->pauses, true},
        {"busCalls", bus->calls, false},
        {"busCallsRefused", bus->refused, false},
        {"busSignalsDropped", bus->signals_dropped, false},
    };
    _Static_assert(ELEMENTS_OF(counts) <= STATUS_COUNTERS, "Status has no room");
    add(ret, counts, ELEMENTS_OF(counts));
}

static bool announce_programs(const Overview *overview, Throttle *throttle, uint64_t now_us) {
    const Program *programs = source_programs(overview->source);
    for (size_t i = 0; i < PROGRAM_COUNT_; i++)
        if (!programs[i].attached && !announce_degraded(programs[i].detail, throttle, now_us))
            return false;
    return true;
}

void overview_announce(Overview *overview, Throttle *throttle, uint64_t now_us) {
    if (!overview->programs_announced)
        overview->programs_announced = announce_programs(overview, throttle, now_us);

    uint64_t lost = source_counters(overview->source)->records_lost;
    if (lost != overview->lost_announced &&
        announce_lost(lost - overview->lost_announced, throttle, now_us))
        overview->lost_announced = lost;

    for (Trouble trouble = 0; trouble < TROUBLE_COUNT_; trouble++) {
        const char *text = trouble_text(overview, trouble);
        bool *announced = &overview->announced[trouble];
        if (!text)
            *announced = false;
        else if (!*announced)
            *announced = announce_degraded(text, throttle, now_us);
    }
}

bool overview_changed(Overview *overview) {
    unsigned troubles = 0;
    for (Trouble trouble = 0; trouble < TROUBLE_COUNT_; trouble++)
        if (trouble_text(overview, trouble))
            troubles |= 1U << trouble;
    bool changed = troubles != overview->troubles;
    overview->troubles = troubles;
    return changed;
}
