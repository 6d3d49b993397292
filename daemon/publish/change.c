// The frames of one change.
// SPDX-License-Identifier: MIT
#include "change.h"

#include <errno.h>
#include <stdlib.h>

#include "varlink.h"
#include "view.h"

void change_done(Change *change) {
    for (size_t i = 0; i < CHANGE_FORM_COUNT_; i++)
        free(change->frames[i].bytes);
    *change = (Change){0};
}

// To one who may no longer see it a process is gone, and nothing of what it became is told.
static Process hidden_process(const Process *process) {
    return (Process){
        .key = process->key,
        .id_exec_count = process->id_exec_count,
        .id_again = process->id_again,
        .traits = {.pid = process->traits.pid, .uid = UID_UNKNOWN, .state = STATE_GONE},
        .gid = GID_UNKNOWN,
        .signal = process->signal,
        .protection = PROTECTION_UNKNOWN,
        .detected = process->detected,
        .sequence = process->sequence,
    };
}

static int make_object(const Change *change, bool hidden, json_t **ret) {
    const Process *process = change->action->process;
    if (!hidden)
        return view_process_json(process, change->boot_id, ret);
    Process shown = hidden_process(process);
    return view_process_json(&shown, change->boot_id, ret);
}

static json_t *event_parameters(const Change *change, json_t *object, bool with_previous) {
    json_int_t sequence = (json_int_t)change->action->process->sequence;
    const char *previous = with_previous ? state_to_string(change->action->before.state) : NULL;
    return json_pack("{s:s, s:I, s:O, s:s*}", "kind", "changed", "sequence", sequence, "process",
                     object, "previousState", previous);
}

static json_t *list_parameters(const Change *change, json_t *object) {
    json_int_t sequence = (json_int_t)change->action->process->sequence;
    return json_pack("{s:[O], s:I}", "processes", object, "sequence", sequence);
}

int change_frame(Change *change, ChangeForm form, const char **ret, size_t *ret_size) {
    if (!change->frames[form].bytes) {
        bool hidden = form == CHANGE_HIDDEN || form == CHANGE_LIST_HIDDEN;
        bool list = form == CHANGE_LIST || form == CHANGE_LIST_HIDDEN;
        _cleanup_json_ json_t *object = NULL;
        int r = make_object(change, hidden, &object);
        if (r < 0)
            return r;
        _cleanup_json_ json_t *parameters =
            list ? list_parameters(change, object)
                 : event_parameters(change, object, form != CHANGE_NEW);
        if (!parameters)
            return -ENOMEM;
        r = varlink_reply_format(parameters, true, &change->frames[form].bytes,
                                 &change->frames[form].size);
        if (r < 0)
            return r;
    }
    *ret = change->frames[form].bytes;
    *ret_size = change->frames[form].size;
    return 0;
}
