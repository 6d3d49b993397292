// monitor: a line for each process there is, then one for each change, as it happens.
//
// A daemon that is restarted, as by an upgrade, is called again. Text then shows what is different
// from what it showed before: the new daemon's snapshot is compared with the processes known, and
// those that are missing in it have ended meanwhile, as far as the daemon does not say otherwise.
// JSON is what the daemon answered, and there a snapshot that begins anew says the same. Where
// nothing listens any more, this ends.
// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "discovery_names.h"
#include "field.h"
#include "instant.h"
#include "log.h"
#include "macro.h"
#include "process_text.h"
#include "subscriber.h"
#include "terminal.h"
#include "time_text.h"

typedef struct Monitor {
    Output *output;     // borrowed
    const char *socket; // borrowed
    bool filtered;
    bool headed; // the header was printed
    bool synced;
    bool again;     // the snapshot that comes is another daemon's
    json_t *known;  // owned, id -> process as it was shown last
    json_t *listed; // owned, ids of the snapshot that comes
} Monitor;

static void monitor_done(Monitor *monitor) {
    json_decref(monitor->known);
    json_decref(monitor->listed);
}

// Widths that hold what is usual, so that lines are aligned without knowing the next.
static const TableColumn columns[] = {
    {.title = "TIME", .usual = 19},
    {.title = "STATE", .usual = 11},
    {.title = "PID", .right = true, .usual = 7},
    {.title = "VERSION", .flexible = true, .usual = 8},
    {.title = "USER", .flexible = true, .usual = 8},
    {.title = "ENTRY", .flexible = true, .usual = 24},
    {.title = "DETAIL", .flexible = true, .usual = 12},
};

// The terminal may have another width at every line.
static int print_line(const Monitor *monitor, const Table *line, bool header) {
    Output output = *monitor->output;
    output.width = terminal_width();
    return output_table(&output, line, header);
}

static int print_header(Monitor *monitor) {
    if (monitor->headed || !monitor->output->legend)
        return 0;
    monitor->headed = true;
    _cleanup_(table_done) Table line;
    table_init(&line, columns, ELEMENTS_OF(columns));
    return print_line(monitor, &line, true);
}

// When that happened, as far as the process says it; else now.
static uint64_t moment_of(json_t *process, json_t *before) {
    const char *state = process_text(process, "state");
    bool changes = !before || strcmp(state, process_text(before, "state")) != 0;
    uint64_t moment;
    if (changes && strcmp(state, "ready") == 0 &&
        field_number(process, "readyRealtimeUSec", &moment))
        return moment;
    if (!before && strcmp(state, "gone") != 0 &&
        field_number(process, "detectedRealtimeUSec", &moment))
        return moment;
    return instant_now().realtime_us;
}

// How long it took to become ready, or why it did not.
static void add_remark(Table *line, json_t *process) {
    const char *reason = field_text(process, "reason"), *detail = field_text(process, "detail");
    char span[TIME_TEXT_SIZE];
    uint64_t from, to;
    if (strcmp(process_text(process, "state"), "ready") == 0 &&
        field_number(process, "detectedBoottimeUSec", &from) &&
        field_number(process, "readyBoottimeUSec", &to) && to >= from) {
        time_text_milliseconds(to - from, span);
        table_add(line, STYLE_PLAIN, "%s", span);
    } else {
        table_add(line, STYLE_PLAIN, "%s%s%s", reason ? reason : "", reason && detail ? ": " : "",
                  detail ? detail : "");
    }
}

static int print_process(const Monitor *monitor, json_t *process, json_t *before) {
    char time[TIME_TEXT_SIZE], user[PROCESS_TEXT_SIZE];
    uint64_t pid = 0;
    field_number(process, "pid", &pid);
    process_text_user(process, user);
    time_text_line(moment_of(process, before), time);

    _cleanup_(table_done) Table line;
    table_init(&line, columns, ELEMENTS_OF(columns));
    table_add(&line, STYLE_PLAIN, "%s", time);
    table_add(&line, process_text_style(process), "%s", process_text(process, "state"));
    table_add(&line, STYLE_PLAIN, "%" PRIu64, pid);
    table_add(&line, STYLE_PLAIN, "%s", process_text(process, "runtimeVersion"));
    table_add(&line, STYLE_PLAIN, "%s", user);
    table_add(&line, STYLE_PLAIN, "%s", process_text_entry(process));
    add_remark(&line, process);
    return print_line(monitor, &line, false);
}

// Whether a line would say nothing new. A daemon that has just started has not asked yet.
static bool is_shown(json_t *before, json_t *process) {
    static const char *const names[] = {"state",   "runtimeVersion", "uid",   "entryAssembly",
                                        "command", "reason",         "detail"};
    const char *state = process_text(process, "state");
    if (strcmp(state, "detected") == 0 && strcmp(process_text(before, "state"), state) != 0)
        return true;
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        json_t *a = json_object_get(before, names[i]), *b = json_object_get(process, names[i]);
        if (a != b && !json_equal(a, b))
            return false;
    }
    return true;
}

static int take_process(Monitor *monitor, json_t *process) {
    const char *id = field_text(process, "id"), *state = field_text(process, "state");
    if (!id || !state)
        return -EBADMSG;
    json_t *before = json_object_get(monitor->known, id);
    bool gone = strcmp(state, "gone") == 0;
    if (!gone && !monitor->synced && json_object_set_new(monitor->listed, id, json_true()) < 0)
        return -ENOMEM;
    if (before && is_shown(before, process))
        return 0;
    int r = print_process(monitor, process, before);
    if (r < 0)
        return r;
    if (gone) {
        json_object_del(monitor->known, id);
        json_object_del(monitor->listed, id);
        return 0;
    }
    return json_object_set(monitor->known, id, process) < 0 ? -ENOMEM : 0;
}

static int take_snapshot(Monitor *monitor, json_t *event) {
    size_t index;
    json_t *process;
    int r = print_header(monitor);
    json_array_foreach(field_array(event, "processes"), index, process) {
        if (r >= 0)
            r = take_process(monitor, process);
    }
    return r;
}

// What became of a process: the daemon is asked on a connection of its own. *ret is owned by the
// caller: NULL where it is no more, what was known where the answer does not say. A ClientResult or
// a negative errno; after anything but CLIENT_OK the connection is good for no other question,
// since this one's answer may still come.
static int ask_for(Client *client, uint64_t deadline_us, json_t *process, json_t **ret) {
    json_t *pid = json_object_get(process, "pid"), *start = json_object_get(process, "startTime");
    _cleanup_json_ json_t *parameters = json_pack("{s:O, s:O*}", "pid", pid, "startTime", start);
    if (!parameters)
        return -ENOMEM;
    _cleanup_reply_ VarlinkReply reply = {0};
    int r = client->fd < 0 ? client_connect(client) : CLIENT_OK;
    if (r == CLIENT_OK)
        r = client_send(client, DISCOVERY_INTERFACE ".Get", parameters, false);
    if (r == CLIENT_OK)
        r = client_receive(client, deadline_us, &reply);
    if (r != CLIENT_OK)
        return r;
    if (reply.error && strcmp(reply.error, DISCOVERY_INTERFACE ".NoSuchProcess") == 0)
        return CLIENT_OK;
    json_t *told = field_object(reply.parameters, "process");
    *ret = json_incref(told ? told : process);
    return CLIENT_OK;
}

static int take_end(Monitor *monitor, json_t *process) {
    _cleanup_json_ json_t *end = json_copy(process);
    if (!end || json_object_set_new(end, "state", json_string("gone")) < 0)
        return -ENOMEM;
    json_object_del(end, "reason");
    json_object_del(end, "detail");
    return take_process(monitor, end);
}

// What the snapshot has not is no more; with a filter it may only not match yet, since a daemon
// that has just started knows nothing of what a process will answer. All questions share one
// patience: who gets no answer goes on with what was known, and asks no more.
static int take_missing(Monitor *monitor) {
    _cleanup_client_ Client client;
    client_init(&client, monitor->socket);
    uint64_t deadline_us = client_patience();
    bool answers = true;
    const char *id;
    json_t *process;
    void *next;
    json_object_foreach_safe(monitor->known, next, id, process) {
        if (json_object_get(monitor->listed, id))
            continue;
        _cleanup_json_ json_t *now = NULL;
        if (monitor->filtered) {
            answers = answers && ask_for(&client, deadline_us, process, &now) == CLIENT_OK;
            if (!answers)
                continue;
        }
        int r = now ? take_process(monitor, now) : take_end(monitor, process);
        if (r < 0)
            return r;
    }
    return json_object_clear(monitor->listed);
}

static void tell_synced(const Monitor *monitor) {
    size_t known = json_object_size(monitor->known);
    if (!monitor->output->legend)
        return;
    if (monitor->again)
        fputs(DISCOVERY_DAEMON " is back. ", stderr);
    if (known > 0) {
        fprintf(stderr, "%zu .NET process%s; waiting for more.\n", known, known == 1 ? "" : "es");
        return;
    }
    if (monitor->filtered) {
        fputs("No .NET process matches; waiting for one.\n", stderr);
    } else {
        fputs("No .NET process is running; waiting for one.\n", stderr);
        command_hint_start(stderr);
    }
    if (client_hint_unseen())
        fprintf(stderr, "%s\n", client_hint_unseen());
}

static void begin_anew(Monitor *monitor, bool again) {
    monitor->synced = false;
    monitor->again = again;
    json_object_clear(monitor->listed);
}

// Shows one reply of Subscribe. A kind that is not known says something that can be left out.
static int show(Monitor *monitor, json_t *event) {
    if (output_is_json(monitor->output))
        return output_json(monitor->output, event);
    const char *kind = field_text(event, "kind");
    if (!kind)
        return -EBADMSG;
    bool synced = strcmp(kind, "synced") == 0;
    int r = 0;
    if (strcmp(kind, "snapshot") == 0)
        r = take_snapshot(monitor, event);
    else if (strcmp(kind, "changed") == 0)
        r = take_process(monitor, field_object(event, "process"));
    else if (synced)
        r = take_missing(monitor);
    if (r >= 0)
        r = output_flush(monitor->output);
    if (r < 0)
        return r;
    if (synced) {
        monitor->synced = true;
        tell_synced(monitor);
    } else if (strcmp(kind, "overrun") == 0) {
        begin_anew(monitor, false);
        log_warning("Changes came faster than they could be shown, and some were dropped; what is "
                    "different now follows.");
    }
    return 0;
}

static int follow(Monitor *monitor, Subscriber *subscriber) {
    int r = subscriber_open(subscriber);
    while (r == CLIENT_OK) {
        _cleanup_reply_ VarlinkReply reply = {0};
        r = subscriber_receive(subscriber, USEC_NEVER, &reply);
        if (r == CLIENT_ENDED) {
            r = subscriber_open_again(subscriber);
            begin_anew(monitor, true);
            if (r == CLIENT_OK)
                log_notice(DISCOVERY_DAEMON " has ended the connection; waiting for its return.");
            continue;
        }
        if (r != CLIENT_OK)
            break;
        if (reply.error)
            return client_explain_error(&reply);
        r = show(monitor, reply.parameters);
        if (r == -EBADMSG)
            return client_explain(&subscriber->client, CLIENT_BAD);
        if (r == -ENOMEM)
            return command_fail(r);
        // output_finish() meets and tells errors of the output.
        if (r < 0 || output_flush(monitor->output) < 0)
            return EXIT_STATUS_DONE;
    }
    return client_explain(&subscriber->client, r);
}

int command_monitor(const CommandLine *line, Output *output) {
    _cleanup_json_ json_t *parameters = NULL;
    int status = command_filter(line, &parameters);
    if (status != EXIT_STATUS_DONE)
        return status;
    _cleanup_(monitor_done) Monitor monitor = {
        .output = output,
        .socket = line->socket,
        .filtered = line->argument_count > 0,
        .known = json_object(),
        .listed = json_object(),
    };
    if (!monitor.known || !monitor.listed)
        return command_fail(-ENOMEM);
    _cleanup_subscriber_ Subscriber subscriber;
    subscriber_init(&subscriber, line->socket, parameters);
    return follow(&monitor, &subscriber);
}
