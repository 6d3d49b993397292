// dotnet-discoveryctl: asks the daemon over its status socket and shows the answers.
// SPDX-License-Identifier: MIT
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "discovery_names.h"
#include "filter_argument.h"
#include "log.h"
#include "macro.h"

static const struct {
    const char *name;
    int (*run)(const CommandLine *line, Output *output);
    const char *arguments; // for messages
    size_t minimum, maximum;
} commands[] = {
    {"list", command_list, "[FILTER...]", 0, SIZE_MAX},
    {"show", command_show, "PID...", 1, SIZE_MAX},
    {"monitor", command_monitor, "[FILTER...]", 0, SIZE_MAX},
    {"wait", command_wait, "FILTER...", 1, SIZE_MAX},
    {"status", command_status, "", 0, 0},
    {"check", command_check, "[PID]", 0, 1},
};

static void print_help(void) {
    fputs("Usage: " DISCOVERY_CLIENT " [OPTIONS...] [COMMAND] [ARGUMENTS...]\n"
          "\n"
          "Show which .NET processes on this host can be diagnosed, and the moment that changes.\n"
          "\n"
          "Commands:\n"
          "  list [FILTER...]      List .NET processes (the default)\n"
          "  show PID...           Show everything that is known of processes\n"
          "  monitor [FILTER...]   Show the processes there are, then every change as it happens\n"
          "  wait FILTER...        Wait until a process matches and is ready (or has the state\n"
          "                        that state= names), print its PID\n"
          "  status                Show what the daemon does, sees, and cannot see\n"
          "  check [PID]           Check what this machine offers, or how far one process gets\n"
          "\n"
          "Options:\n"
          "  -h --help             Show this help\n"
          "     --version          Show the version\n"
          "  -a --all              status: show counters that are zero, too\n"
          "     --json=MODE        Print what the daemon answered as JSON: short (one line each),\n"
          "                        pretty, or off\n"
          "  -j                    Same as --json=pretty on a terminal, --json=short otherwise\n"
          "     --no-legend        Leave out headings, counts and hints\n"
          "     --no-pager         Do not pipe output into a pager\n"
          "     --socket=PATH      The daemon's socket, instead of\n"
          "                        " DISCOVERY_SOCKET_PATH "\n"
          "     --timeout=TIME     wait: give up after so long, like 10, 500ms or '1min 30s'\n"
          "\n"
          "FILTER is NAME=VALUE; a process must match all that are given. NAME is one of\n"
          "  " FILTER_ARGUMENT_NAMES ".\n"
          "pid is a number and uid a number or a user's name; state is detected, ready,\n"
          "unreachable or gone; the others are shell patterns like 'My*.dll'.\n"
          "\n"
          "Exit status: 0 done, also where a list is empty; 1 failed, or a check is not all well;\n"
          "2 not a valid command line; 3 a PID is not known; 4 wait gave up; 69 the daemon is not\n"
          "running.\n",
          stdout);
}

static int usage(void) {
    log_error("Try '" DISCOVERY_CLIENT " --help'.");
    return EXIT_STATUS_USAGE;
}

static int run(const CommandLine *line, Output *output) {
    for (size_t i = 0; i < ELEMENTS_OF(commands); i++) {
        if (strcmp(line->command, commands[i].name) != 0)
            continue;
        if (line->argument_count < commands[i].minimum ||
            line->argument_count > commands[i].maximum) {
            log_error("Usage: " DISCOVERY_CLIENT " %s %s", commands[i].name, commands[i].arguments);
            return usage();
        }
        return commands[i].run(line, output);
    }
    log_error("There is no command '%s'.", line->command);
    return usage();
}

int main(int argc, char **argv) {
    // Only how characters are encoded; dates and numbers stay the same for everybody.
    setlocale(LC_CTYPE, "");
    CommandLine line;
    Output output = {0};
    int r = command_line_parse(argc, argv, &line);
    if (r < 0)
        return usage();
    output_init(&output, &line);
    if (r == COMMAND_LINE_HELP) {
        output_begin(&output);
        print_help();
        return output_finish(&output, EXIT_STATUS_DONE);
    }
    if (r == COMMAND_LINE_VERSION) {
        puts(DISCOVERY_CLIENT " " DISCOVERY_VERSION);
        return output_finish(&output, EXIT_STATUS_DONE);
    }
    int status = run(&line, &output);
    return output_finish(&output, status);
}
