// Since 4.1 tracefs is a file system of its own; some hosts mount only debugfs, with it inside.
// SPDX-License-Identifier: MIT
#include "tracefs.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "macro.h"

int tracefs_access(const char *name, int mode) {
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    int r = -ENOENT;
    for (size_t i = 0; i < ELEMENTS_OF(places); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", places[i], name);
        if (access(path, mode) == 0)
            return 0;
        // That one of them refuses us says more than that the other is not there.
        if (errno != ENOENT)
            r = -errno;
    }
    return r;
}
