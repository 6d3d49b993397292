// The answers of Status and Check.
// SPDX-License-Identifier: MIT
#include "status.h"

#include <stdlib.h>
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

static int append_counter(json_t *array, const char *name, uint64_t value) {
    return json_array_append_new(array,
                                 json_pack("{s:s, s:I}", "name", name, "value", (json_int_t)value));
}

static json_t *processes_json(const Context *context, const Viewer *viewer) {
    uint64_t counts[STATE_COUNT_] = {0};
    const Process *process = registry_next(context->registry, 0);
    for (; process; process = registry_next(context->registry, process->serial))
        if (viewer_sees(viewer, &process->traits))
            counts[process->traits.state]++;

    _cleanup_json_ json_t *array = json_array();
    for (State state = 0; state < STATE_COUNT_; state++)
        // A process that is gone is forgotten.
        if (state != STATE_GONE && append_counter(array, state_to_string(state), counts[state]) < 0)
            return NULL;
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

static json_t *counters_json(const Status *status, const Viewer *viewer) {
    _cleanup_json_ json_t *array = json_array();
    for (size_t i = 0; i < status->counter_count; i++) {
        const StatusCounter *counter = &status->counters[i];
        if ((viewer->sees_all || counter->is_public) &&
            append_counter(array, counter->name, counter->value) < 0)
            return NULL;
    }
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
    Status status = {0};
    context->collect(context->userdata, &status);
    struct utsname kernel = {0};
    uname(&kernel);

    _cleanup_json_ json_t *programs = programs_json(&status);
    _cleanup_json_ json_t *counters = counters_json(&status, viewer);
    _cleanup_json_ json_t *processes = processes_json(context, viewer);
    _cleanup_json_ json_t *degraded = degraded_json(&status);
    if (!programs || !counters || !processes || !degraded)
        return NULL;
    char run_id[SD_ID128_STRING_MAX];
    return json_pack("{s:s, s:s, s:s, s:O*, s:O, s:O, s:O, s:I, s:s, s:I}", "version",
                     DISCOVERY_VERSION, "runId", sd_id128_to_string(context->run_id, run_id),
                     "mechanism", status.mechanism, "degraded",
                     status.degraded_count > 0 ? degraded : NULL, "programs", programs, "counters",
                     counters, "processes", processes, "startedRealtimeUSec",
                     (json_int_t)context->started_realtime_us, "kernelRelease", kernel.release,
                     "sequence", (json_int_t)registry_sequence(context->registry));
}
