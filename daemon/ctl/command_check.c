// check: what the kernel, the rights and the machine offer, or how far one process gets, item by
// item.
// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "command.h"
#include "discovery_names.h"
#include "field.h"
#include "filter_argument.h"
#include "log.h"
#include "macro.h"
#include "self_check.h"

static bool all_ok(json_t *items) {
    size_t index;
    json_t *item;
    json_array_foreach(items, index, item) {
        if (!field_true(item, "ok"))
            return false;
    }
    return true;
}

static int print_items(const Output *output, json_t *items) {
    static const TableColumn columns[] = {{.right = false}, {.right = false}, {.wraps = true}};
    _cleanup_(table_done) Table table;
    table_init(&table, columns, ELEMENTS_OF(columns));
    size_t index;
    json_t *item;
    json_array_foreach(items, index, item) {
        bool ok = field_true(item, "ok");
        const char *name = field_text(item, "name"), *detail = field_text(item, "detail");
        const char *yes = output->utf8 ? "\u2713" : "yes", *no = output->utf8 ? "\u2717" : "no";
        table_add(&table, ok ? STYLE_GOOD : STYLE_BAD, "%s", ok ? yes : no);
        table_add(&table, STYLE_PLAIN, "%s", name ? name : "-");
        table_add(&table, STYLE_PLAIN, "%s", detail ? detail : "");
    }
    return output_table(output, &table, false);
}

static int print(Output *output, json_t *reply) {
    json_t *items = field_array(reply, "items");
    output_begin(output);
    int r = output_is_json(output) ? output_json(output, reply) : print_items(output, items);
    if (r < 0)
        return command_fail(r);
    return all_ok(items) ? EXIT_STATUS_DONE : EXIT_STATUS_FAILED;
}

static int check_without_daemon(const Client *client, uint64_t pid, Output *output) {
    _cleanup_json_ json_t *reply = NULL;
    int r = self_check(pid, &reply);
    if (r < 0)
        return command_fail(r);
    switch ((SelfCheckResult)r) {
    case SELF_CHECK_MISSING:
        log_error("The program " DISCOVERY_DAEMON ", which could check by itself, was not found.");
        return client_explain(client, CLIENT_NOT_RUNNING);
    case SELF_CHECK_NO_PROCESS:
        return EXIT_STATUS_NOT_FOUND;
    case SELF_CHECK_FAILED:
        return EXIT_STATUS_FAILED;
    case SELF_CHECK_BAD:
        log_error("'" DISCOVERY_DAEMON " --check' gave no result.");
        return EXIT_STATUS_FAILED;
    case SELF_CHECK_DONE:
        break;
    }
    if (output->legend)
        log_notice(DISCOVERY_DAEMON
                   " is not running; this is what it would find with your rights.");
    return print(output, reply);
}

int command_check(const CommandLine *line, Output *output) {
    uint64_t pid = 0;
    if (line->argument_count > 0 && !filter_argument_pid(line->arguments[0], &pid)) {
        log_error("'%s' is not a process id.", line->arguments[0]);
        return EXIT_STATUS_USAGE;
    }
    _cleanup_json_ json_t *parameters =
        pid > 0 ? json_pack("{s:I}", "pid", (json_int_t)pid) : json_object();
    if (!parameters)
        return command_fail(-ENOMEM);

    _cleanup_client_ Client client;
    client_init(&client, line->socket);
    int r = client_connect(&client);
    if (r == CLIENT_NOT_RUNNING)
        return check_without_daemon(&client, pid, output);
    if (r != CLIENT_OK)
        return client_explain(&client, r);
    _cleanup_reply_ VarlinkReply reply = {0};
    int status = command_ask(&client, "Check", parameters, &reply);
    if (status != EXIT_STATUS_DONE)
        return status;
    if (!field_array(reply.parameters, "items"))
        return client_explain(&client, CLIENT_BAD);
    return print(output, reply.parameters);
}
