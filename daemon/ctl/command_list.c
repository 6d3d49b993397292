// list: the processes of now, as a table. Pages are merged as the interface says: a later entry of
// the same process replaces an earlier one, and "gone" takes it out.
// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "discovery_names.h"
#include "field.h"
#include "log.h"
#include "macro.h"
#include "process_text.h"
#include "time_text.h"

typedef struct Listing {
    json_t *by_id;    // owned, id -> process
    json_t *sequence; // owned, of the last page
} Listing;

static void listing_done(Listing *listing) {
    json_decref(listing->by_id);
    json_decref(listing->sequence);
}

static int add_page(Listing *listing, json_t *page) {
    size_t index;
    json_t *process;
    json_array_foreach(field_array(page, "processes"), index, process) {
        const char *id = field_text(process, "id"), *state = field_text(process, "state");
        if (!id || !state)
            return -EBADMSG;
        if (strcmp(state, "gone") == 0)
            json_object_del(listing->by_id, id);
        else if (json_object_set(listing->by_id, id, process) < 0)
            return -ENOMEM;
    }
    json_decref(listing->sequence);
    listing->sequence = json_incref(json_object_get(page, "sequence"));
    return listing->sequence ? 0 : -EBADMSG;
}

static int receive(Client *client, Listing *listing) {
    for (bool continues = true; continues;) {
        _cleanup_reply_ VarlinkReply reply = {0};
        int status = command_reply(client, client_patience(), &reply);
        if (status != EXIT_STATUS_DONE)
            return status;
        int r = add_page(listing, reply.parameters);
        if (r == -EBADMSG)
            return client_explain(client, CLIENT_BAD);
        if (r < 0)
            return command_fail(r);
        continues = reply.continues;
    }
    return EXIT_STATUS_DONE;
}

static int by_pid(const void *left, const void *right) {
    uint64_t a = 0, b = 0;
    field_number(*(json_t *const *)left, "pid", &a);
    field_number(*(json_t *const *)right, "pid", &b);
    return (a > b) - (a < b);
}

// The processes in the order of their pids, as one array. Owned by the caller; NULL: no memory.
static json_t *sorted(const Listing *listing) {
    size_t count = json_object_size(listing->by_id), used = 0;
    _cleanup_free_ json_t **processes = calloc(count + 1, sizeof *processes);
    _cleanup_json_ json_t *result = json_array();
    if (!processes || !result)
        return NULL;

    const char *id;
    json_t *process;
    json_object_foreach(listing->by_id, id, process) {
        processes[used++] = process;
    }
    qsort(processes, used, sizeof *processes, by_pid);
    for (size_t i = 0; i < used; i++)
        if (json_array_append(result, processes[i]) < 0)
            return NULL;
    return TAKE_PTR(result);
}

static void add_row(Table *table, json_t *process) {
    char state[PROCESS_TEXT_SIZE], user[PROCESS_TEXT_SIZE], since[TIME_TEXT_SIZE] = "-";
    uint64_t pid = 0, moment;
    field_number(process, "pid", &pid);
    process_text_state(process, state);
    process_text_user(process, user);
    if (field_number(process, "readyRealtimeUSec", &moment) ||
        field_number(process, "detectedRealtimeUSec", &moment))
        time_text_date(moment, since);

    table_add(table, STYLE_PLAIN, "%" PRIu64, pid);
    table_add(table, process_text_style(process), "%s", state);
    table_add(table, STYLE_PLAIN, "%s", process_text(process, "runtimeVersion"));
    table_add(table, STYLE_PLAIN, "%s", user);
    table_add(table, STYLE_PLAIN, "%s", process_text_entry(process));
    table_add(table, STYLE_PLAIN, "%s", since);
}

static int print_table(const Output *output, json_t *processes) {
    static const TableColumn columns[] = {
        {.title = "PID", .right = true},        {.title = "STATE"},
        {.title = "VERSION", .flexible = true}, {.title = "USER"},
        {.title = "ENTRY", .flexible = true},   {.title = "SINCE"},
    };
    _cleanup_(table_done) Table table;
    table_init(&table, columns, ELEMENTS_OF(columns));
    size_t index;
    json_t *process;
    json_array_foreach(processes, index, process) {
        add_row(&table, process);
    }
    return output_table(output, &table, output->legend);
}

static void print_nothing(bool filtered) {
    if (filtered) {
        puts("No .NET process matches.");
    } else {
        puts("No .NET process is running.");
        command_hint_start(stdout);
    }
    if (client_hint_unseen())
        puts(client_hint_unseen());
}

static int print(const CommandLine *line, Output *output, const Listing *listing) {
    _cleanup_json_ json_t *processes = sorted(listing);
    if (!processes)
        return -ENOMEM;
    output_begin(output);
    if (output_is_json(output)) {
        _cleanup_json_ json_t *whole =
            json_pack("{s:O, s:O}", "processes", processes, "sequence", listing->sequence);
        return whole ? output_json(output, whole) : -ENOMEM;
    }

    size_t count = json_array_size(processes);
    int r = count > 0 ? print_table(output, processes) : 0;
    if (r < 0 || !output->legend)
        return r;
    if (count > 0)
        printf("\n%zu process%s listed.\n", count, count == 1 ? "" : "es");
    else
        print_nothing(line->argument_count > 0);
    return 0;
}

int command_list(const CommandLine *line, Output *output) {
    _cleanup_json_ json_t *parameters = NULL;
    int status = command_filter(line, &parameters);
    if (status != EXIT_STATUS_DONE)
        return status;
    _cleanup_(listing_done) Listing listing = {.by_id = json_object()};
    if (!listing.by_id)
        return command_fail(-ENOMEM);

    _cleanup_client_ Client client;
    client_init(&client, line->socket);
    status = command_call(&client, "List", parameters, true);
    if (status == EXIT_STATUS_DONE)
        status = receive(&client, &listing);
    if (status != EXIT_STATUS_DONE)
        return status;
    int r = print(line, output, &listing);
    return r < 0 ? command_fail(r) : EXIT_STATUS_DONE;
}
