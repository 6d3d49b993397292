// The answers of Status and Check.
// SPDX-License-Identifier: MIT
#include "status.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "varlink.h"

void check_items_done(CheckItems *items) {
    for (size_t i = 0; i < items->count; i++)
        free(items->items[i].detail);
    *items = (CheckItems){0};
}

// What follows gives NULL when out of memory. Appending to an array takes the value, also where
// that fails or is NULL; json_pack leaves out a "s*" member that is NULL.

json_t *check_items_json(const CheckItems *items) {
    _cleanup_json_ json_t *array = json_array();
    for (size_t i = 0; i < items->count; i++) {
        const CheckItem *item = &items->items[i];
        json_t *object = json_pack("{s:s, s:b, s:s*}", "name", item->name, "ok", item->ok, "detail",
                                   item->detail);
        if (json_array_append_new(array, object) < 0)
            return NULL;
    }
    return json_pack("{s:O}", "items", array);
}

// Of those that the viewer sees. Whoever sees all is not made to wait until all are walked.
static void count_processes(const Registry *registry, const Viewer *viewer,
                            uint64_t ret[static STATE_COUNT_]) {
    if (viewer->sees_all) {
        for (State state = 0; state < STATE_COUNT_; state++)
            ret[state] = registry_count_in(registry, state);
        return;
    }
    const Process *process = registry_next(registry, 0);
    for (; process; process = registry_next(registry, process->serial))
        if (viewer_sees(viewer, &process->traits))
            ret[process->traits.state]++;
}

static void drop_hidden_counters(Status *status, const Viewer *viewer) {
    size_t kept = 0;
    for (size_t i = 0; i < status->counter_count; i++)
        if (viewer->sees_all || status->counters[i].is_public)
            status->counters[kept++] = status->counters[i];
    status->counter_count = kept;
}

void status_report(const Context *context, const Viewer *viewer, StatusReport *ret) {
    *ret = (StatusReport){
        .started_realtime_us = context->started_realtime_us,
        .sequence = registry_sequence(context->registry),
    };
    context->collect(context->userdata, &ret->status);
    drop_hidden_counters(&ret->status, viewer);
    count_processes(context->registry, viewer, ret->processes);
    sd_id128_to_string(context->run_id, ret->run_id);
    struct utsname kernel = {0};
    uname(&kernel);
    _Static_assert(sizeof kernel.release <= sizeof ret->kernel_release, "a release does not fit");
    memcpy(ret->kernel_release, kernel.release, sizeof kernel.release);
}

const char *status_mechanism(const Status *status) {
    for (size_t i = 0; i < status->mechanism_count; i++)
        if (status->mechanisms[i].used)
            return status->mechanisms[i].name;
    return "";
}

static int append_counter(json_t *array, const char *name, uint64_t value) {
    return json_array_append_new(array,
                                 json_pack("{s:s, s:I}", "name", name, "value", (json_int_t)value));
}

static json_t *processes_json(const StatusReport *report) {
    _cleanup_json_ json_t *array = json_array();
    for (State state = 0; state < STATE_COUNT_; state++)
        // A process that is gone is forgotten.
        if (state != STATE_GONE &&
            append_counter(array, state_to_string(state), report->processes[state]) < 0)
            return NULL;
    return TAKE_PTR(array);
}

static json_t *mechanisms_json(const Status *status) {
    _cleanup_json_ json_t *array = json_array();
    for (size_t i = 0; i < status->mechanism_count; i++) {
        const StatusMechanism *mechanism = &status->mechanisms[i];
        json_t *object =
            json_pack("{s:s, s:b, s:s, s:s*}", "name", mechanism->name, "used", mechanism->used,
                      "cost", mechanism->cost, "detail", mechanism->detail);
        if (json_array_append_new(array, object) < 0)
            return NULL;
    }
    return TAKE_PTR(array);
}

static json_t *programs_json(const Status *status) {
    _cleanup_json_ json_t *array = json_array();
    for (size_t i = 0; i < status->program_count; i++) {
        const StatusProgram *program = &status->programs[i];
        json_t *object =
            json_pack("{s:s, s:s, s:b, s:s*}", "name", program->name, "kind", program->kind,
                      "attached", program->attached, "detail", program->detail);
        if (json_array_append_new(array, object) < 0)
            return NULL;
    }
    return TAKE_PTR(array);
}

static json_t *counters_json(const Status *status) {
    _cleanup_json_ json_t *array = json_array();
    for (size_t i = 0; i < status->counter_count; i++)
        if (append_counter(array, status->counters[i].name, status->counters[i].value) < 0)
            return NULL;
    return TAKE_PTR(array);
}

static json_t *degraded_json(const Status *status) {
    _cleanup_json_ json_t *array = json_array();
    for (size_t i = 0; i < status->degraded_count; i++)
        if (json_array_append_new(array, json_string(status->degraded[i])) < 0)
            return NULL;
    return TAKE_PTR(array);
}

json_t *status_json(const Context *context, const Viewer *viewer) {
    StatusReport report;
    status_report(context, viewer, &report);
    const Status *status = &report.status;
    _cleanup_json_ json_t *mechanisms = mechanisms_json(status);
    _cleanup_json_ json_t *interval =
        status->scan_interval_us > 0 ? json_integer((json_int_t)status->scan_interval_us) : NULL;
    _cleanup_json_ json_t *programs = programs_json(status);
    _cleanup_json_ json_t *counters = counters_json(status);
    _cleanup_json_ json_t *processes = processes_json(&report);
    _cleanup_json_ json_t *degraded = degraded_json(status);
    if (!mechanisms || !programs || !counters || !processes || !degraded)
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:O, s:O*, s:O*, s:O, s:O, s:O, s:I, s:s, s:I}", "version",
                     DISCOVERY_VERSION, "runId", report.run_id, "mechanism",
                     status_mechanism(status), "mechanisms", mechanisms, "scanIntervalUSec",
                     interval, "degraded", status->degraded_count > 0 ? degraded : NULL, "programs",
                     programs, "counters", counters, "processes", processes, "startedRealtimeUSec",
                     (json_int_t)report.started_realtime_us, "kernelRelease", report.kernel_release,
                     "sequence", (json_int_t)report.sequence);
}
