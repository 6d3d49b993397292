// Standard output. Colours are for terminals only, and not where the user refuses them
// (https://no-color.org).
// SPDX-License-Identifier: MIT
#include "output.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "exit_status.h"
#include "log.h"

// A terminal that can do more than print lines one after another.
static bool is_able_terminal(void) {
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static bool refuses_colours(void) {
    const char *no_color = getenv("NO_COLOR");
    return no_color && *no_color;
}

static size_t terminal_width(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col;
}

void output_init(Output *output, const CommandLine *line) {
    bool terminal = isatty(STDOUT_FILENO);
    Format format = line->format;
    if (format == FORMAT_JSON_FITTING)
        format = terminal ? FORMAT_JSON_PRETTY : FORMAT_JSON_SHORT;
    *output = (Output){
        .format = format,
        .legend = line->legend && format == FORMAT_TEXT,
        .colours = is_able_terminal() && !refuses_colours(),
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .width = terminal ? terminal_width() : 0,
        .page = line->pager && is_able_terminal(),
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

void output_style(const Output *output, Style style) {
    if (output->colours && style != STYLE_PLAIN)
        fputs(style_begin(style), stdout);
}

void output_style_end(const Output *output, Style style) {
    if (output->colours && style != STYLE_PLAIN)
        fputs(STYLE_END, stdout);
}

int output_flush(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return errno > 0 ? -errno : -EIO;
}

int output_finish(Output *output, int status) {
    int r = output_flush();
    pager_close(&output->pager);
    if (r == 0 || r == -EPIPE)
        return status;
    log_error("Failed to write the output: %s.", strerror(-r));
    return EXIT_STATUS_FAILED;
}
