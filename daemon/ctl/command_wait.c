// wait: until a process matches. The filter is the daemon's work; the state is looked at here, too,
// since a process that leaves a filter is told once more. A daemon that is restarted meanwhile is
// called again; who ended while none ran is not seen, so that state=gone may wait in vain.
// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "field.h"
#include "instant.h"
#include "log.h"
#include "process_text.h"
#include "subscriber.h"

static bool has_state(json_t *process, const char *state) {
    return strcmp(process_text(process, "state"), state) == 0;
}

// The first process of an event that is in that state; borrowed, NULL where there is none.
static json_t *match(json_t *event, const char *state) {
    json_t *process = field_object(event, "process");
    if (process && has_state(process, state))
        return process;
    size_t index;
    json_array_foreach(field_array(event, "processes"), index, process) {
        if (has_state(process, state))
            return process;
    }
    return NULL;
}

static int print(const Output *output, json_t *process) {
    uint64_t pid;
    if (output_is_json(output)) {
        int r = output_json(output, process);
        return r < 0 ? command_fail(r) : EXIT_STATUS_DONE;
    }
    if (field_number(process, "pid", &pid))
        printf("%" PRIu64 "\n", pid);
    return EXIT_STATUS_DONE;
}

static int receive(Subscriber *subscriber, uint64_t deadline_us, const char *state,
                   const Output *output) {
    int r = subscriber_open(subscriber);
    while (r == CLIENT_OK) {
        _cleanup_reply_ VarlinkReply reply = {0};
        r = subscriber_receive(subscriber, deadline_us, &reply);
        if (r == CLIENT_ENDED) {
            r = subscriber_open_again(subscriber);
            continue;
        }
        if (r == CLIENT_LATE) {
            log_error("No .NET process matched in time.");
            return EXIT_STATUS_TIMED_OUT;
        }
        if (r != CLIENT_OK)
            break;
        if (reply.error)
            return client_explain_error(&reply);
        json_t *process = match(reply.parameters, state);
        if (process)
            return print(output, process);
    }
    return client_explain(&subscriber->client, r);
}

int command_wait(const CommandLine *line, Output *output) {
    _cleanup_json_ json_t *parameters = NULL;
    int status = command_filter(line, &parameters);
    if (status != EXIT_STATUS_DONE)
        return status;
    json_t *filter = field_object(parameters, "filter");
    if (!field_text(filter, "state") &&
        json_object_set_new(filter, "state", json_string("ready")) < 0)
        return command_fail(-ENOMEM);

    uint64_t now = instant_now().boottime_us, deadline_us;
    if (__builtin_add_overflow(now, line->timeout_us, &deadline_us))
        deadline_us = USEC_NEVER;
    _cleanup_subscriber_ Subscriber subscriber;
    subscriber_init(&subscriber, line->socket, parameters);
    return receive(&subscriber, deadline_us, field_text(filter, "state"), output);
}
