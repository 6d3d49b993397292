// Parsing the command line; main.c describes it.
// SPDX-License-Identifier: MIT
#include "command_line.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "discovery_names.h"
#include "instant.h"
#include "log.h"
#include "time_text.h"

static int parse_format(const char *text, Format *ret) {
    if (strcmp(text, "off") == 0)
        *ret = FORMAT_TEXT;
    else if (strcmp(text, "short") == 0)
        *ret = FORMAT_JSON_SHORT;
    else if (strcmp(text, "pretty") == 0)
        *ret = FORMAT_JSON_PRETTY;
    else {
        log_error("--json= takes short, pretty or off, not '%s'.", text);
        return -EINVAL;
    }
    return 0;
}

static int parse_timeout(const char *text, CommandLine *line) {
    int r = time_text_parse_span(text, &line->timeout_us);
    if (r < 0 || line->timeout_us == 0) {
        log_error("--timeout= takes a time like 10, 500ms or '1min 30s', not '%s'.", text);
        return -EINVAL;
    }
    line->has_timeout = true;
    return 0;
}

enum {
    OPTION_JSON = 256,
    OPTION_NO_LEGEND,
    OPTION_NO_PAGER,
    OPTION_SOCKET,
    OPTION_TIMEOUT,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"all", no_argument, NULL, 'a'},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"json", required_argument, NULL, OPTION_JSON},
    {"no-legend", no_argument, NULL, OPTION_NO_LEGEND},
    {"no-pager", no_argument, NULL, OPTION_NO_PAGER},
    {"socket", required_argument, NULL, OPTION_SOCKET},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {NULL, 0, NULL, 0},
};

static int parse_option(int option, CommandLine *line) {
    switch (option) {
    case 'h':
        return COMMAND_LINE_HELP;
    case OPTION_VERSION:
        return COMMAND_LINE_VERSION;
    case 'a':
        line->all = true;
        return COMMAND_LINE_RUN;
    case 'j':
        line->format = FORMAT_JSON_FITTING;
        return COMMAND_LINE_RUN;
    case OPTION_JSON:
        return parse_format(optarg, &line->format);
    case OPTION_NO_LEGEND:
        line->legend = false;
        return COMMAND_LINE_RUN;
    case OPTION_NO_PAGER:
        line->pager = false;
        return COMMAND_LINE_RUN;
    case OPTION_SOCKET:
        if (!*optarg) {
            log_error("--socket= takes the path of a socket.");
            return -EINVAL;
        }
        line->socket = optarg;
        return COMMAND_LINE_RUN;
    case OPTION_TIMEOUT:
        return parse_timeout(optarg, line);
    default:
        return -EINVAL; // getopt has said why
    }
}

int command_line_parse(int argc, char **argv, CommandLine *ret) {
    CommandLine line = {
        .socket = DISCOVERY_SOCKET_PATH,
        .format = FORMAT_TEXT,
        .legend = true,
        .pager = true,
        .timeout_us = USEC_NEVER,
        .command = "list",
    };

    optind = 0; // getopt keeps its place between calls; 0 makes it begin anew
    for (int option; (option = getopt_long(argc, argv, "ahj", long_options, NULL)) >= 0;) {
        int r = parse_option(option, &line);
        if (r < 0)
            return r;
        if (r != COMMAND_LINE_RUN) {
            *ret = line;
            return r;
        }
    }
    if (optind < argc)
        line.command = argv[optind++];
    line.arguments = argv + optind;
    line.argument_count = (size_t)(argc - optind);
    if (line.has_timeout && strcmp(line.command, "wait") != 0) {
        log_error("--timeout= is for wait; %s has no use for it.", line.command);
        return -EINVAL;
    }
    if (line.all && strcmp(line.command, "status") != 0) {
        log_error("--all is for status; %s has no use for it.", line.command);
        return -EINVAL;
    }
    *ret = line;
    return COMMAND_LINE_RUN;
}
