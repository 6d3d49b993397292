// Logging to standard error.
// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int maximum_level = LOG_INFO;

void log_set_level(int level) {
    maximum_level = level;
}

int log_level(void) {
    return maximum_level;
}

bool log_to_journal(void) {
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat st;

    return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_message(int level, const char *format, ...) {
    if (level > maximum_level)
        return;

    int saved = errno;
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);

    if (log_to_journal())
        fprintf(stderr, "<%d>%s\n", level, line);
    else
        fprintf(stderr, "%s\n", line);
    errno = saved;
}
