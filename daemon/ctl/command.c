// What the commands share: from arguments to a call, from a reply or a failure to an exit status.
// SPDX-License-Identifier: MIT
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "discovery_names.h"
#include "filter_argument.h"
#include "log.h"

int command_fail(int error) {
    log_error("Failed: %s.", strerror(-error));
    return EXIT_STATUS_FAILED;
}

int command_filter(const CommandLine *line, json_t **ret) {
    _cleanup_json_ json_t *parameters = json_object();
    if (!parameters)
        return command_fail(-ENOMEM);
    if (line->argument_count > 0 && json_object_set_new(parameters, "filter", json_object()) < 0)
        return command_fail(-ENOMEM);
    json_t *filter = json_object_get(parameters, "filter");
    for (size_t i = 0; i < line->argument_count; i++) {
        const char *fault;
        int r = filter_argument_add(filter, line->arguments[i], &fault);
        if (r == -EINVAL) {
            log_error("The filter '%s' %s.", line->arguments[i], fault);
            return EXIT_STATUS_USAGE;
        }
        if (r < 0)
            return command_fail(r);
    }
    *ret = TAKE_PTR(parameters);
    return EXIT_STATUS_DONE;
}

int command_call(Client *client, const char *method, json_t *parameters, bool more) {
    char name[128];
    snprintf(name, sizeof name, DISCOVERY_INTERFACE ".%s", method);
    int r = client->fd < 0 ? client_connect(client) : CLIENT_OK;
    if (r == CLIENT_OK)
        r = client_send(client, name, parameters, more);
    return r == CLIENT_OK ? EXIT_STATUS_DONE : client_explain(client, r);
}

int command_reply(Client *client, uint64_t deadline_us, VarlinkReply *ret) {
    _cleanup_reply_ VarlinkReply reply = {0};
    int r = client_receive(client, deadline_us, &reply);
    if (r != CLIENT_OK)
        return client_explain(client, r);
    if (reply.error)
        return client_explain_error(&reply);
    *ret = reply;
    reply = (VarlinkReply){0};
    return EXIT_STATUS_DONE;
}

int command_ask(Client *client, const char *method, json_t *parameters, VarlinkReply *ret) {
    int status = command_call(client, method, parameters, false);
    return status == EXIT_STATUS_DONE ? command_reply(client, client_patience(), ret) : status;
}

void command_hint_start(FILE *file) {
    fputs("Start one to see it here, for example:\n"
          "  dotnet new web -o hello && dotnet run --project hello\n",
          file);
}
