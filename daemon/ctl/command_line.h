// The command line.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Format {
    FORMAT_TEXT,
    FORMAT_JSON_SHORT,
    FORMAT_JSON_PRETTY,
    FORMAT_JSON_FITTING, // pretty on a terminal, short elsewhere
} Format;

typedef struct CommandLine {
    const char *socket;
    Format format;
    bool legend;
    bool pager;
    bool all;
    bool has_timeout;
    uint64_t timeout_us; // USEC_NEVER without one
    const char *command;
    char **arguments; // into argv, which getopt has put in order
    size_t argument_count;
} CommandLine;

typedef enum CommandLineResult {
    COMMAND_LINE_RUN = 0,
    COMMAND_LINE_HELP = 1,
    COMMAND_LINE_VERSION = 2
} CommandLineResult;

// *ret is set in each case but of a failure. -EINVAL: the command line is not one; standard error
// has been told.
int command_line_parse(int argc, char **argv, CommandLine *ret);
