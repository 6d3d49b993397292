// show: everything that is known of the processes named, a line for each field.
// SPDX-License-Identifier: MIT
#include <grp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "command.h"
#include "discovery_names.h"
#include "field.h"
#include "filter_argument.h"
#include "instant.h"
#include "log.h"
#include "macro.h"
#include "process_text.h"
#include "quote.h"
#include "time_text.h"

// How a field is shown. Fields left out say the same as another on a different clock.
typedef enum ShowAs {
    SHOW_TEXT,
    SHOW_NUMBER,
    SHOW_TICKS,
    SHOW_STATE,
    SHOW_USER,
    SHOW_GROUP,
    SHOW_ARGUMENTS,
    SHOW_MOMENT,
    SHOW_READY,
} ShowAs;

static const struct {
    const char *label;
    const char *name;
    ShowAs as;
} fields[] = {
    {"PID", "pid", SHOW_NUMBER},
    {"Namespace PID", "namespacePid", SHOW_NUMBER},
    {"State", "state", SHOW_STATE},
    {"Detail", "detail", SHOW_TEXT},
    {"Runtime version", "runtimeVersion", SHOW_TEXT},
    {"Entry assembly", "entryAssembly", SHOW_TEXT},
    {"Command", "command", SHOW_TEXT},
    {"Executable", "executable", SHOW_TEXT},
    {"Arguments", "arguments", SHOW_ARGUMENTS},
    {"User", "uid", SHOW_USER},
    {"Group", "gid", SHOW_GROUP},
    {"Unit", "unit", SHOW_TEXT},
    {"User unit", "userUnit", SHOW_TEXT},
    {"Container", "containerId", SHOW_TEXT},
    {"Control group", "cgroup", SHOW_TEXT},
    {"Socket", "socketPath", SHOW_TEXT},
    {"Socket from here", "hostSocketPath", SHOW_TEXT},
    {"Runtime cookie", "runtimeCookie", SHOW_TEXT},
    {"Operating system", "operatingSystem", SHOW_TEXT},
    {"Architecture", "architecture", SHOW_TEXT},
    {"Portable RID", "portableRid", SHOW_TEXT},
    {"Found by", "signal", SHOW_TEXT},
    {"Mapping", "mappingProtection", SHOW_TEXT},
    {"Start time", "startTime", SHOW_TICKS},
    {"Detected", "detectedRealtimeUSec", SHOW_MOMENT},
    {"Ready", "readyRealtimeUSec", SHOW_READY},
    {"Sequence", "sequence", SHOW_NUMBER},
    {"ID", "id", SHOW_TEXT},
};

static int add_arguments(Card *card, const char *label, json_t *process, bool utf8) {
    json_t *arguments = field_array(process, "arguments");
    if (!arguments)
        return 0;
    _cleanup_free_ char *line = NULL;
    size_t size, index;
    _cleanup_fclose_ FILE *stream = open_memstream(&line, &size);
    if (!stream)
        return -errno;

    json_t *argument;
    json_array_foreach(arguments, index, argument) {
        if (!json_is_string(argument))
            continue;
        _cleanup_free_ char *quoted = quote_argument(json_string_value(argument));
        if (!quoted)
            return -ENOMEM;
        fprintf(stream, "%s%s", index > 0 ? " " : "", quoted);
    }
    if (field_true(process, "argumentsTruncated"))
        fputs(utf8 ? " \u2026" : " ...", stream);
    if (fflush(stream) != 0)
        return -ENOMEM;
    card_add(card, label, STYLE_PLAIN, "%s", line);
    return 0;
}

static void add_group(Card *card, const char *label, uint64_t gid) {
    const struct group *group = gid < UINT32_MAX ? getgrgid((gid_t)gid) : NULL;
    if (group)
        card_add(card, label, STYLE_PLAIN, "%s (%" PRIu64 ")", group->gr_name, gid);
    else
        card_add(card, label, STYLE_PLAIN, "%" PRIu64, gid);
}

static void add_user(Card *card, const char *label, json_t *process, uint64_t uid) {
    char user[PROCESS_TEXT_SIZE], number[PROCESS_TEXT_SIZE];
    process_text_user(process, user);
    snprintf(number, sizeof number, "%" PRIu64, uid);
    if (strcmp(user, number) == 0)
        card_add(card, label, STYLE_PLAIN, "%s", number);
    else
        card_add(card, label, STYLE_PLAIN, "%s (%s)", user, number);
}

// How long ago that was; how long after the detection, for the moment it became ready.
static void add_moment(Card *card, const char *label, json_t *process, uint64_t moment,
                       bool ready) {
    char text[TIME_TEXT_SIZE], ago[TIME_TEXT_SIZE], after[TIME_TEXT_SIZE];
    uint64_t now = instant_now().realtime_us, from, to;
    time_text_full(moment, text);
    time_text_span(now > moment ? now - moment : 0, ago);
    if (ready && field_number(process, "detectedBoottimeUSec", &from) &&
        field_number(process, "readyBoottimeUSec", &to) && to >= from) {
        time_text_milliseconds(to - from, after);
        card_add(card, label, STYLE_PLAIN, "%s; %s ago; %s after it was detected", text, ago,
                 after);
    } else {
        card_add(card, label, STYLE_PLAIN, "%s; %s ago", text, ago);
    }
}

static int add_field(Card *card, const char *label, const char *name, ShowAs as, json_t *process,
                     bool utf8) {
    char state[PROCESS_TEXT_SIZE];
    const char *text = field_text(process, name);
    uint64_t number = 0;
    bool is_number = field_number(process, name, &number);

    switch (as) {
    case SHOW_ARGUMENTS:
        return add_arguments(card, label, process, utf8);
    case SHOW_STATE:
        process_text_state(process, state);
        card_add(card, label, process_text_style(process), "%s", state);
        return 0;
    case SHOW_TEXT:
        if (text)
            card_add(card, label, STYLE_PLAIN, "%s", text);
        return 0;
    case SHOW_NUMBER:
        if (is_number)
            card_add(card, label, STYLE_PLAIN, "%" PRIu64, number);
        return 0;
    case SHOW_TICKS:
        if (is_number)
            card_add(card, label, STYLE_PLAIN, "%" PRIu64 " clock ticks after boot", number);
        return 0;
    case SHOW_USER:
        if (is_number)
            add_user(card, label, process, number);
        return 0;
    case SHOW_GROUP:
        if (is_number)
            add_group(card, label, number);
        return 0;
    case SHOW_MOMENT:
    case SHOW_READY:
        if (is_number)
            add_moment(card, label, process, number, as == SHOW_READY);
        return 0;
    }
    return 0;
}

// Whether the card shows a field under a name of its own, or another says it already.
static bool is_told(const char *name) {
    static const char *const others[] = {"reason", "argumentsTruncated", "detectedBoottimeUSec",
                                         "readyBoottimeUSec"};
    for (size_t i = 0; i < ELEMENTS_OF(fields); i++)
        if (strcmp(name, fields[i].name) == 0)
            return true;
    for (size_t i = 0; i < ELEMENTS_OF(others); i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return false;
}

// Fields that a newer daemon knows, in its own words.
static int add_unknown(Card *card, json_t *process) {
    const char *name;
    json_t *value;
    json_object_foreach(process, name, value) {
        if (is_told(name))
            continue;
        _cleanup_free_ char *text = json_is_string(value) ? strdup(json_string_value(value))
                                                          : json_dumps(value, JSON_ENCODE_ANY);
        if (!text)
            return -ENOMEM;
        card_add(card, name, STYLE_PLAIN, "%s", text);
    }
    return 0;
}

static int print_process(const Output *output, json_t *process) {
    _cleanup_(card_done) Card card;
    card_init(&card);
    for (size_t i = 0; i < ELEMENTS_OF(fields); i++) {
        int r =
            add_field(&card, fields[i].label, fields[i].name, fields[i].as, process, output->utf8);
        if (r < 0)
            return r;
    }
    int r = add_unknown(&card, process);
    return r < 0 ? r : card_print(&card, output);
}

// Asks for one process; what comes is added to `processes`. Only EXIT_STATUS_NOT_FOUND lets the
// others be asked for.
static int get(Client *client, uint64_t pid, json_t *processes) {
    _cleanup_json_ json_t *parameters = json_pack("{s:I}", "pid", (json_int_t)pid);
    if (!parameters)
        return command_fail(-ENOMEM);
    _cleanup_reply_ VarlinkReply reply = {0};
    int status = command_ask(client, "Get", parameters, &reply);
    if (status != EXIT_STATUS_DONE)
        return status;
    json_t *process = field_object(reply.parameters, "process");
    if (!process)
        return client_explain(client, CLIENT_BAD);
    if (json_array_append(processes, process) < 0)
        return command_fail(-ENOMEM);
    return EXIT_STATUS_DONE;
}

static int parse_pids(const CommandLine *line, uint64_t *pids) {
    for (size_t i = 0; i < line->argument_count; i++)
        if (!filter_argument_pid(line->arguments[i], &pids[i])) {
            log_error("'%s' is not a process id.", line->arguments[i]);
            return EXIT_STATUS_USAGE;
        }
    return EXIT_STATUS_DONE;
}

static int print(Output *output, json_t *processes) {
    size_t index;
    json_t *process;
    if (json_array_size(processes) == 0)
        return 0;
    output_begin(output);
    json_array_foreach(processes, index, process) {
        if (index > 0 && !output_is_json(output))
            putchar('\n');
        int r =
            output_is_json(output) ? output_json(output, process) : print_process(output, process);
        if (r < 0)
            return r;
    }
    return 0;
}

int command_show(const CommandLine *line, Output *output) {
    _cleanup_free_ uint64_t *pids = calloc(line->argument_count, sizeof *pids);
    _cleanup_json_ json_t *processes = json_array();
    if (!pids || !processes)
        return command_fail(-ENOMEM);
    int result = parse_pids(line, pids);
    if (result != EXIT_STATUS_DONE)
        return result;

    _cleanup_client_ Client client;
    client_init(&client, line->socket);
    for (size_t i = 0; i < line->argument_count; i++) {
        int status = get(&client, pids[i], processes);
        if (status != EXIT_STATUS_DONE && status != EXIT_STATUS_NOT_FOUND)
            return status;
        if (status == EXIT_STATUS_NOT_FOUND)
            result = status;
    }
    int r = print(output, processes);
    return r < 0 ? command_fail(r) : result;
}
