// The terminal, judged as systemd's tools judge it.
// SPDX-License-Identifier: MIT
#include "terminal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "environment.h"

enum { WIDTH_USUAL = 80 };

// Standard error counts, too: where it is caught, nobody sits there who could use a pager.
bool terminal_is_able(void) {
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) && term && *term &&
           strcmp(term, "dumb") != 0;
}

// A number of colours means yes: the few used here are in every set. "auto-16" and the like leave
// the decision to the rest.
bool terminal_shows_colours(void) {
    const char *wanted = getenv("SYSTEMD_COLORS");
    if (wanted &&
        (strcmp(wanted, "16") == 0 || strcmp(wanted, "256") == 0 || strcmp(wanted, "24bit") == 0))
        return true;
    int decided = environment_boolean(wanted);
    if (decided >= 0)
        return decided;
    return !getenv("NO_COLOR") && terminal_is_able();
}

size_t terminal_width(void) {
    if (!isatty(STDOUT_FILENO))
        return 0;
    const char *columns = getenv("COLUMNS");
    char *end;
    unsigned long width = columns ? strtoul(columns, &end, 10) : 0;
    if (width > 0 && width <= USHRT_MAX && *end == '\0')
        return width;
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return WIDTH_USUAL;
    return size.ws_col;
}
