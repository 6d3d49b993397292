// Standard output, and what stands behind it.
// SPDX-License-Identifier: MIT
#include "output.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_status.h"
#include "log.h"
#include "terminal.h"

void output_init(Output *output, const CommandLine *line) {
    Format format = line->format;
    if (format == FORMAT_JSON_FITTING)
        format = isatty(STDOUT_FILENO) ? FORMAT_JSON_PRETTY : FORMAT_JSON_SHORT;
    *output = (Output){
        .format = format,
        .legend = line->legend && format == FORMAT_TEXT,
        .colours = terminal_shows_colours(),
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .width = terminal_width(),
        .page = line->pager && terminal_is_able(),
    };
}

void output_begin(Output *output) {
    if (output->page && output->pager.pid == 0)
        pager_open(&output->pager);
}

int output_json(const Output *output, json_t *value) {
    size_t flags = output->format == FORMAT_JSON_PRETTY ? JSON_INDENT(2) : JSON_COMPACT;
    char *text = json_dumps(value, flags);
    if (!text)
        return -ENOMEM;
    puts(text);
    free(text);
    return 0;
}

int output_table(const Output *output, const Table *table, bool header) {
    return table_print(table, stdout,
                       (TableLook){
                           .header = header,
                           .colours = output->colours,
                           .utf8 = output->utf8,
                           .width = output->width,
                       });
}

int output_flush(Output *output) {
    errno = 0;
    if (output->error == 0 && (fflush(stdout) != 0 || ferror(stdout)))
        output->error = errno > 0 ? -errno : -EIO;
    return output->error;
}

int output_finish(Output *output, int status) {
    int r = output_flush(output);
    pager_close(&output->pager);
    if (r == 0 || r == -EPIPE)
        return status;
    log_error("Failed to write the output: %s.", strerror(-r));
    return EXIT_STATUS_FAILED;
}
