// status: what the daemon does, sees, and cannot see.
// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "card.h"
#include "command.h"
#include "discovery_names.h"
#include "field.h"
#include "instant.h"
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

static void add_counters(Card *card, const char *title, json_t *status, const char *name) {
    const char *label = title;
    size_t index;
    json_t *counter;
    json_array_foreach(field_array(status, name), index, counter) {
        uint64_t value = 0;
        const char *text = field_text(counter, "name");
        if (text && field_number(counter, "value", &value)) {
            card_add(card, label, STYLE_PLAIN, "%" PRIu64 " %s", value, text);
            label = NULL;
        }
    }
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

static int print(const Output *output, json_t *status) {
    _cleanup_(card_done) Card card;
    card_init(&card);
    uint64_t sequence;
    add_text(&card, "Version", status, "version");
    add_running(&card, status);
    add_text(&card, "Run ID", status, "runId");
    add_text(&card, "Kernel", status, "kernelRelease");
    add_text(&card, "Mechanism", status, "mechanism");
    add_degraded(&card, status);
    add_programs(&card, status);
    add_counters(&card, "Processes", status, "processes");
    add_counters(&card, "Counters", status, "counters");
    if (field_number(status, "sequence", &sequence))
        card_add(&card, "Sequence", STYLE_PLAIN, "%" PRIu64, sequence);
    puts(DISCOVERY_DAEMON);
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
                                   : print(output, reply.parameters);
    return r < 0 ? command_fail(r) : EXIT_STATUS_DONE;
}
