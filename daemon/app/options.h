// The command line of the daemon. Options set limits; there is no configuration file.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "source.h"
#include "varlink_server.h"

typedef enum Mode {
    MODE_SERVE,
    MODE_CHECK, // --check[=PID]: say what there is, on standard output, and end
    MODE_DONE,  // --help or --version: all is said
} Mode;

typedef struct Options {
    Mode mode;
    pid_t check_pid;         // 0: the machine
    const char *socket_path; // into argv or static
    size_t processes;
    size_t probes;
    VarlinkLimits varlink;
    SourceOptions source;
} Options;

// 0, or -EINVAL once a message on standard error has said what was wrong.
int options_parse(int argc, char *argv[], Options *ret);
