// status: what the daemon does, sees, and cannot see; what it cannot stands first.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "card.h"
#include "cleanup.h"
#include "command.h"
#include "discovery_names.h"
#include "field.h"
#include "instant.h"
#include "style.h"
#include "time_text.h"

static void add_text(Card *card, const char *label, json_t *status, const char *name) {
    const char *text = field_text(status, name);
    if (text)
        card_add(card, label, STYLE_PLAIN, "%s", text);
}

static void add_running(Card *card, json_t *status) {
    uint64_t started, now = instant_now().realtime_us;
    if (!field_number(status, "startedRealtimeUSec", &started))
        return;
    char since[TIME_TEXT_SIZE], ago[TIME_TEXT_SIZE];
    time_text_full(started, since);
    time_text_span(now > started ? now - started : 0, ago);
    card_add(card, "Running", STYLE_PLAIN, "since %s; %s", since, ago);
}

// Those that are zero are left out, but with --all: what has not happened is no news.
static void add_counters(Card *card, json_t *status, bool all) {
    const char *label = "Counters";
    size_t index;
    json_t *counter;
    json_array_foreach(field_array(status, "counters"), index, counter) {
        uint64_t value = 0;
        const char *text = field_text(counter, "name");
        if (text && field_number(counter, "value", &value) && (value > 0 || all)) {
            card_add(card, label, STYLE_PLAIN, "%" PRIu64 " %s", value, text);
            label = NULL;
        }
    }
}

static int add_processes(Card *card, json_t *status, bool all) {
    _cleanup_free_ char *line = NULL;
    size_t size, index;
    _cleanup_fclose_ FILE *stream = open_memstream(&line, &size);
    if (!stream)
        return -errno;
    const char *comma = "";
    json_t *counter;
    json_array_foreach(field_array(status, "processes"), index, counter) {
        uint64_t value = 0;
        const char *text = field_text(counter, "name");
        if (text && field_number(counter, "value", &value) && (value > 0 || all)) {
            fprintf(stream, "%s%" PRIu64 " %s", comma, value, text);
            comma = ", ";
        }
    }
    if (fflush(stream) != 0)
        return -ENOMEM;
    card_add(card, "Processes", STYLE_PLAIN, "%s", size > 0 ? line : "none");
    return 0;
}

static void add_degraded(Card *card, json_t *status) {
    json_t *degraded = field_array(status, "degraded"), *sentence;
    size_t index;
    if (json_array_size(degraded) == 0)
        card_add(card, "Degraded", STYLE_GOOD, "no");
    json_array_foreach(degraded, index, sentence) {
        if (json_is_string(sentence))
            card_add(card, index == 0 ? "Degraded" : NULL, STYLE_BAD, "%s",
                     json_string_value(sentence));
    }
}

// The one in use stands first, then why each better one is not; what keeps several is said once.
static void add_mechanisms(Card *card, json_t *status) {
    json_t *mechanisms = field_array(status, "mechanisms"), *mechanism;
    size_t index, used = 0;
    json_array_foreach(mechanisms, index, mechanism) {
        const char *name = field_text(mechanism, "name"), *cost = field_text(mechanism, "cost");
        if (!field_true(mechanism, "used"))
            continue;
        card_add(card, "Mechanism", STYLE_PLAIN, "%s (%s)", name ? name : "-", cost ? cost : "-");
        used = index;
    }
    char names[128] = "";
    for (index = 0; index < used; index++) {
        mechanism = json_array_get(mechanisms, index);
        const char *name = field_text(mechanism, "name"), *detail = field_text(mechanism, "detail");
        const char *next =
            index + 1 < used ? field_text(json_array_get(mechanisms, index + 1), "detail") : NULL;
        size_t size = strlen(names);
        snprintf(names + size, sizeof names - size, "%s%s", size > 0 ? ", " : "",
                 name ? name : "-");
        if (detail && next && strcmp(detail, next) == 0)
            continue;
        card_add(card, NULL, STYLE_PLAIN, "not %s: %s", names, detail ? detail : "-");
        names[0] = '\0';
    }
}

static void add_scans(Card *card, json_t *status) {
    uint64_t interval;
    if (!field_number(status, "scanIntervalUSec", &interval))
        return;
    char span[TIME_TEXT_SIZE];
    time_text_span(interval, span);
    card_add(card, "Scans", STYLE_PLAIN, "one every %s", span);
}

static void add_programs(Card *card, json_t *status) {
    const char *label = "Programs";
    size_t index;
    json_t *program;
    json_array_foreach(field_array(status, "programs"), index, program) {
        const char *name = field_text(program, "name"), *kind = field_text(program, "kind");
        const char *detail = field_text(program, "detail");
        bool attached = field_true(program, "attached");
        card_add(card, label, attached ? STYLE_PLAIN : STYLE_WARNING, "%s (%s): %s",
                 name ? name : "-", kind ? kind : "-",
                 attached ? "attached"
                 : detail ? detail
                          : "not attached");
        label = NULL;
    }
}

static void print_title(const Output *output, json_t *status) {
    Style style = json_array_size(field_array(status, "degraded")) > 0 ? STYLE_BAD : STYLE_GOOD;
    printf("%s%s%s " DISCOVERY_DAEMON " %s\n", output->colours ? style_begin(style) : "",
           output->utf8 ? "\u25cf" : "*", output->colours ? STYLE_END : "",
           field_text(status, "version"));
}

static int print(const Output *output, json_t *status, bool all) {
    _cleanup_(card_done) Card card;
    card_init(&card);
    uint64_t sequence;
    add_degraded(&card, status);
    add_running(&card, status);
    add_mechanisms(&card, status);
    add_scans(&card, status);
    add_programs(&card, status);
    int r = add_processes(&card, status, all);
    if (r < 0)
        return r;
    add_counters(&card, status, all);
    add_text(&card, "Kernel", status, "kernelRelease");
    add_text(&card, "Run ID", status, "runId");
    if (field_number(status, "sequence", &sequence))
        card_add(&card, "Sequence", STYLE_PLAIN, "%" PRIu64, sequence);
    print_title(output, status);
    return card_print(&card, output);
}

int command_status(const CommandLine *line, Output *output) {
    _cleanup_client_ Client client;
    client_init(&client, line->socket);
    _cleanup_reply_ VarlinkReply reply = {0};
    int status = command_ask(&client, "Status", NULL, &reply);
    if (status != EXIT_STATUS_DONE)
        return status;
    if (!field_text(reply.parameters, "version"))
        return client_explain(&client, CLIENT_BAD);

    output_begin(output);
    int r = output_is_json(output) ? output_json(output, reply.parameters)
                                   : print(output, reply.parameters, line->all);
    return r < 0 ? command_fail(r) : EXIT_STATUS_DONE;
}
