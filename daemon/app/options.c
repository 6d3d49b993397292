// getopt_long(3) over a table of limits.
// SPDX-License-Identifier: MIT
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "discovery_names.h"
#include "log.h"
#include "macro.h"

static const char help[] =
    "Usage: " DISCOVERY_DAEMON " [OPTION…]\n\n"
    "Tells profilers which .NET processes can be diagnosed, the moment they can.\n\n"
    "  -h --help                        Show this help and exit\n"
    "     --version                     Show the version and exit\n"
    "     --check[=PID]                 Say as JSON what the machine offers, or what is known\n"
    "                                   of one process, and exit\n"
    "     --socket=PATH                 Status socket\n"
    "                                   (default " DISCOVERY_SOCKET_PATH ")\n"
    "     --log-level=LEVEL             err, warning, notice, info (default) or debug\n"
    "     --mechanism=NAME              How to notice processes: auto (default, the first of\n"
    "                                   these that works), fentry, kprobe,\n"
    "                                   syscall-tracepoint, raw-tracepoint, perf or scan\n"
    "     --without=PROGRAM             Leave out a kernel program: mapping, listen,\n"
    "                                   exec or scan (may be given more than once)\n"
    "     --max-processes=N             Processes followed at once (default %d);\n"
    "                                   a quarter of it for one uid other than 0, an\n"
    "                                   eighth for uid 0 alone\n"
    "     --max-probes=N                Processes asked at the same time (default %d);\n"
    "                                   a quarter of it for one uid other than 0\n"
    "     --max-connections=N           Clients in all (default %d); an eighth of it for\n"
    "                                   uid 0 alone\n"
    "     --max-connections-per-uid=N   Clients of one uid other than 0 (default %d)\n"
    "     --max-queue=BYTES             Changes queued for one subscriber (default %d)\n"
    "     --ring-size=BYTES             Ring buffer of kernel records, a power of two of\n"
    "                                   at least 4096 (default %d)\n\n"
    "Ask it with " DISCOVERY_CLIENT ".\n";

enum {
    OPTION_VERSION = 256,
    OPTION_CHECK,
    OPTION_SOCKET,
    OPTION_LOG_LEVEL,
    OPTION_MECHANISM,
    OPTION_WITHOUT,
    OPTION_MAX_PROCESSES,
    OPTION_MAX_PROBES,
    OPTION_MAX_CONNECTIONS,
    OPTION_MAX_CONNECTIONS_PER_UID,
    OPTION_MAX_QUEUE,
    OPTION_RING_SIZE,
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"check", optional_argument, NULL, OPTION_CHECK},
    {"socket", required_argument, NULL, OPTION_SOCKET},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"mechanism", required_argument, NULL, OPTION_MECHANISM},
    {"without", required_argument, NULL, OPTION_WITHOUT},
    {"max-processes", required_argument, NULL, OPTION_MAX_PROCESSES},
    {"max-probes", required_argument, NULL, OPTION_MAX_PROBES},
    {"max-connections", required_argument, NULL, OPTION_MAX_CONNECTIONS},
    {"max-connections-per-uid", required_argument, NULL, OPTION_MAX_CONNECTIONS_PER_UID},
    {"max-queue", required_argument, NULL, OPTION_MAX_QUEUE},
    {"ring-size", required_argument, NULL, OPTION_RING_SIZE},
    {0},
};

static int fail(const char *name, const char *value, const char *expected) {
    log_error("--%s=%s: expected %s.", name, value, expected);
    return -EINVAL;
}

static int parse_number(const char *name, const char *value, size_t minimum, size_t maximum,
                        size_t *ret) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || value[0] < '0' || value[0] > '9' ||
        number < minimum || number > maximum) {
        char expected[64];
        snprintf(expected, sizeof expected, "a number from %zu to %zu", minimum, maximum);
        return fail(name, value, expected);
    }
    *ret = (size_t)number;
    return 0;
}

static int parse_log_level(const char *value) {
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"err", LOG_ERR},
                  {"warning", LOG_WARNING},
                  {"notice", LOG_NOTICE},
                  {"info", LOG_INFO},
                  {"debug", LOG_DEBUG}};
    for (size_t i = 0; i < ELEMENTS_OF(levels); i++) {
        if (strcmp(levels[i].name, value) == 0) {
            log_set_level(levels[i].level);
            return 0;
        }
    }
    return fail("log-level", value, "err, warning, notice, info or debug");
}

static int parse_without(const char *value, Options *options) {
    static const char *const names[] = {
        [PROGRAM_MAPPING] = "mapping",
        [PROGRAM_LISTEN] = "listen",
        [PROGRAM_EXEC] = "exec",
        [PROGRAM_SCAN] = "scan",
    };
    _Static_assert(ELEMENTS_OF(names) == PROGRAM_COUNT_, "a program has no name");
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        if (strcmp(names[i], value) == 0) {
            options->source.without[i] = true;
            return 0;
        }
    }
    return fail("without", value, "mapping, listen, exec or scan");
}

static int parse_ring_size(const char *value, Options *options) {
    size_t size;
    int r = parse_number("ring-size", value, 4096, 1 << 30, &size);
    if (r < 0)
        return r;
    if ((size & (size - 1)) != 0)
        return fail("ring-size", value, "a power of two");
    options->source.ring_bytes = size;
    return 0;
}

static int parse_check(const char *value, Options *options) {
    size_t pid = 0;
    int r = value ? parse_number("check", value, 1, 1 << 22, &pid) : 0;
    if (r < 0)
        return r;
    options->mode = MODE_CHECK;
    options->check_pid = (pid_t)pid;
    return 0;
}

static int parse_option(int option, const char *value, Options *options) {
    switch (option) {
    case 'h':
        printf(help, BOUND_PROCESSES, BOUND_PROBES, BOUND_CONNECTIONS, BOUND_CONNECTIONS_PER_UID,
               BOUND_QUEUE, BOUND_RING_BYTES);
        options->mode = MODE_DONE;
        return 0;
    case OPTION_VERSION:
        puts(DISCOVERY_DAEMON " " DISCOVERY_VERSION);
        options->mode = MODE_DONE;
        return 0;
    case OPTION_CHECK:
        return parse_check(value, options);
    case OPTION_SOCKET:
        options->socket_path = value;
        return value[0] == '/' ? 0 : fail("socket", value, "an absolute path");
    case OPTION_LOG_LEVEL:
        return parse_log_level(value);
    case OPTION_MECHANISM:
        return mechanism_from_string(value, &options->source.mechanism)
                   ? 0
                   : fail("mechanism", value,
                          "auto, fentry, kprobe, syscall-tracepoint, raw-tracepoint, perf or scan");
    case OPTION_WITHOUT:
        return parse_without(value, options);
    case OPTION_MAX_PROCESSES:
        return parse_number("max-processes", value, 1, 1 << 22, &options->processes);
    case OPTION_MAX_PROBES:
        return parse_number("max-probes", value, 1, 4096, &options->probes);
    case OPTION_MAX_CONNECTIONS:
        return parse_number("max-connections", value, 1, 1 << 20, &options->varlink.connections);
    case OPTION_MAX_CONNECTIONS_PER_UID:
        return parse_number("max-connections-per-uid", value, 1, 1 << 20,
                            &options->varlink.connections_per_uid);
    case OPTION_MAX_QUEUE:
        return parse_number("max-queue", value, 4096, 1 << 30, &options->varlink.queue);
    case OPTION_RING_SIZE:
        return parse_ring_size(value, options);
    default:
        // getopt_long has said what was wrong.
        log_error("See " DISCOVERY_DAEMON " --help.");
        return -EINVAL;
    }
}

int options_parse(int argc, char *argv[], Options *ret) {
    Options options = {
        .mode = MODE_SERVE,
        .socket_path = DISCOVERY_SOCKET_PATH,
        .processes = BOUND_PROCESSES,
        .probes = BOUND_PROBES,
        .varlink = {.connections = BOUND_CONNECTIONS,
                    .connections_per_uid = BOUND_CONNECTIONS_PER_UID,
                    .queue = BOUND_QUEUE},
        .source = {.ring_bytes = BOUND_RING_BYTES, .mechanism = MECHANISM_AUTO},
    };

    for (int option; (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        int r = parse_option(option, optarg, &options);
        if (r < 0)
            return r;
        if (options.mode == MODE_DONE)
            break;
    }
    if (options.mode != MODE_DONE && optind < argc) {
        log_error("Unexpected argument '%s'; see --help.", argv[optind]);
        return -EINVAL;
    }
    options.source.processes = options.processes;
    *ret = options;
    return 0;
}
