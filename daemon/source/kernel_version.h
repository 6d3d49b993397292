// For the few things that nothing but its version tells of a kernel. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

static inline bool kernel_is_before(unsigned major, unsigned minor) {
    struct utsname name;
    unsigned a, b;
    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &a, &b) == 2 &&
           (a < major || (a == major && b < minor));
}
