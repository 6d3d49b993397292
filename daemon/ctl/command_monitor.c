// monitor: a line for each process there is, then one for each change, as it happens. When the
// daemon goes, so does this: what happens while nobody watches could not be told.
// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "field.h"
#include "instant.h"
#include "log.h"
#include "process_text.h"
#include "time_text.h"

typedef struct Monitor {
    const Output *output;
    bool filtered;
    bool synced;
    size_t known; // processes of the snapshot, while it comes
} Monitor;

// Widths that hold what is usual; longer texts push the rest of their line.
enum { WIDTH_STATE = 11, WIDTH_PID = 7, WIDTH_VERSION = 8, WIDTH_USER = 8, WIDTH_ENTRY = 24 };

// When that happened, as far as the process says it; else now.
static uint64_t moment_of(json_t *process, bool is_news) {
    const char *state = process_text(process, "state");
    uint64_t moment;
    if (strcmp(state, "ready") == 0 && field_number(process, "readyRealtimeUSec", &moment))
        return moment;
    if ((!is_news || strcmp(state, "detected") == 0) &&
        field_number(process, "detectedRealtimeUSec", &moment))
        return moment;
    return instant_now().realtime_us;
}

// How long it took to become ready, or why it did not; owned, NULL where there is nothing to say.
static char *remark_on(json_t *process, bool is_update) {
    const char *state = process_text(process, "state");
    const char *reason = field_text(process, "reason"), *detail = field_text(process, "detail");
    char span[TIME_TEXT_SIZE], *remark = NULL;
    uint64_t from, to;
    if (is_update)
        return strdup("(more is known)");
    if (strcmp(state, "ready") == 0 && field_number(process, "detectedBoottimeUSec", &from) &&
        field_number(process, "readyBoottimeUSec", &to) && to >= from) {
        time_text_milliseconds(to - from, span);
        return strdup(span);
    }
    if (reason && asprintf(&remark, "%s%s%s", reason, detail ? ": " : "", detail ? detail : "") < 0)
        return NULL;
    return remark;
}

static void print_process(const Output *output, json_t *process, bool is_news, bool is_update) {
    char time[TIME_TEXT_SIZE], user[PROCESS_TEXT_SIZE];
    uint64_t pid = 0;
    field_number(process, "pid", &pid);
    process_text_user(process, user);
    time_text_line(is_update ? instant_now().realtime_us : moment_of(process, is_news), time);

    printf("%s ", time);
    output_style(output, process_text_style(process));
    table_pad(stdout, process_text(process, "state"), WIDTH_STATE, false);
    output_style_end(output, process_text_style(process));
    printf(" %*" PRIu64 " ", WIDTH_PID, pid);
    table_pad(stdout, process_text(process, "runtimeVersion"), WIDTH_VERSION, false);
    putchar(' ');
    table_pad(stdout, user, WIDTH_USER, false);
    putchar(' ');

    _cleanup_free_ char *remark = remark_on(process, is_update);
    table_pad(stdout, process_text_entry(process), remark ? WIDTH_ENTRY : 0, false);
    printf("%s%s\n", remark ? "  " : "", remark ? remark : "");
}

static void print_snapshot(Monitor *monitor, json_t *event) {
    size_t index;
    json_t *process;
    json_array_foreach(field_array(event, "processes"), index, process) {
        print_process(monitor->output, process, false, false);
        monitor->known++;
    }
}

static void print_changed(Monitor *monitor, json_t *event) {
    json_t *process = field_object(event, "process");
    const char *previous = field_text(event, "previousState");
    const char *state = process_text(process, "state");
    print_process(monitor->output, process, true, previous && strcmp(previous, state) == 0);
    if (monitor->synced)
        return;
    if (!previous)
        monitor->known++;
    else if (strcmp(state, "gone") == 0 && monitor->known > 0)
        monitor->known--;
}

static void tell_synced(Monitor *monitor) {
    size_t known = monitor->known;
    monitor->synced = true;
    monitor->known = 0;
    if (!monitor->output->legend)
        return;
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

static void tell_overrun(Monitor *monitor) {
    monitor->synced = false;
    monitor->known = 0;
    log_warning("Changes came faster than they could be shown, and some were dropped; all "
                "processes follow anew.");
}

// Shows one reply of Subscribe. A kind that is not known says something that can be left out.
static int show(Monitor *monitor, json_t *event) {
    if (output_is_json(monitor->output))
        return output_json(monitor->output, event);
    const char *kind = field_text(event, "kind");
    if (!kind)
        return -EBADMSG;
    if (strcmp(kind, "snapshot") == 0)
        print_snapshot(monitor, event);
    else if (strcmp(kind, "changed") == 0)
        print_changed(monitor, event);
    int r = output_flush();
    if (r < 0)
        return r;
    if (strcmp(kind, "synced") == 0)
        tell_synced(monitor);
    else if (strcmp(kind, "overrun") == 0)
        tell_overrun(monitor);
    return 0;
}

int command_monitor(const CommandLine *line, Output *output) {
    _cleanup_json_ json_t *parameters = NULL;
    int status = command_filter(line, &parameters);
    if (status != EXIT_STATUS_DONE)
        return status;
    Monitor monitor = {.output = output, .filtered = line->argument_count > 0};
    _cleanup_client_ Client client;
    client_init(&client, line->socket);
    client.output = STDOUT_FILENO;
    status = command_call(&client, "Subscribe", parameters, true);
    if (status != EXIT_STATUS_DONE)
        return status;

    for (;;) {
        _cleanup_reply_ VarlinkReply reply = {0};
        int r = client_receive(&client, USEC_NEVER, &reply);
        if (r != CLIENT_OK)
            return client_explain(&client, r);
        if (reply.error)
            return client_explain_error(&reply);
        r = show(&monitor, reply.parameters);
        if (r == -EBADMSG)
            return client_explain(&client, CLIENT_BAD);
        if (r == -ENOMEM)
            return command_fail(r);
        // output_finish() meets and tells errors of the output.
        if (r < 0 || output_flush() < 0)
            return EXIT_STATUS_DONE;
    }
}
