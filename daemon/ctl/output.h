// Standard output: what it can show, and whether what was written got there.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "command_line.h"
#include "pager.h"
#include "style.h"
#include "table.h"

typedef struct Output {
    Format format; // FORMAT_JSON_FITTING is settled
    bool legend;   // never beside JSON
    bool colours;
    bool utf8;
    size_t width; // of the terminal, 0 where there is none
    bool page;    // output_begin() may start a pager
    Pager pager;
    int error; // of the first output_flush() that failed
} Output;

void output_init(Output *output, const CommandLine *line);

// Before the first byte of output that is not a stream of events; everything that can fail should
// have happened.
void output_begin(Output *output);

static inline bool output_is_json(const Output *output) {
    return output->format != FORMAT_TEXT;
}

// One JSON value and a newline. -ENOMEM; errors of standard output come with output_flush().
int output_json(const Output *output, json_t *value);

// Prints a table. -ENOMEM.
int output_table(const Output *output, const Table *table, bool header);

// -EPIPE where nobody reads any more, another -errno where writing failed, now or before.
int output_flush(Output *output);

// Flushes and waits for the pager. Says what failed, unless nobody reads. The exit status:
// `status`, or failure where the output is not complete.
int output_finish(Output *output, int status);
