// The names, which are public, and what each costs.
// SPDX-License-Identifier: MIT
#include "mechanism.h"

#include <stddef.h>
#include <string.h>

#define COST_OF_FUNCTIONS                                                                        \
    "nothing but to calls that map shared memory or listen; where a kernel has no function for " \
    "these mappings alone, every mmap takes a little longer"

static const struct {
    const char *name;
    const char *cost;
} mechanisms[] = {
    [MECHANISM_FENTRY] = {"fentry", COST_OF_FUNCTIONS},
    [MECHANISM_KPROBE] = {"kprobe", COST_OF_FUNCTIONS},
    [MECHANISM_SYSCALL_TRACEPOINT] =
        {"syscall-tracepoint", "every system call of the host takes longer, the shortest by a "
                               "quarter"},
    [MECHANISM_RAW_TRACEPOINT] = {"raw-tracepoint", "every system call of the host takes longer, "
                                                    "the shortest by more than a half"},
    [MECHANISM_PERF] =
        {"perf", "every mapping on the host takes longer, that of a file by up to two fifths, and "
                 "the first after a quiet moment wakes the daemon; runtimes before 10.0.5 "
                 "are noticed by scans only"},
    [MECHANISM_SCAN] = {"scan", "a process that starts is noticed by the next scan only"},
    [MECHANISM_AUTO] = {"auto", "that of the first of the others which works"},
};

const char *mechanism_to_string(MechanismId id) {
    return mechanisms[id].name;
}

bool mechanism_from_string(const char *name, MechanismId *ret) {
    for (MechanismId id = 0; id <= MECHANISM_AUTO; id++) {
        if (strcmp(mechanisms[id].name, name) == 0) {
            *ret = id;
            return true;
        }
    }
    return false;
}

const char *mechanism_cost(MechanismId id) {
    return mechanisms[id].cost;
}
