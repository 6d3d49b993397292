// A table of what is needed, by whom and what for.
// SPDX-License-Identifier: MIT
#include "privileges.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "capabilities.h"
#include "macro.h"

static const struct {
    unsigned capability;
    PrivilegeUse use;
    const char *name;
    const char *purpose;
} needed[] = {
    {CAP_BPF, PRIVILEGES_OF_PROGRAMS, "CAP_BPF", "load kernel programs"},
    {CAP_PERFMON, PRIVILEGES_OF_PROGRAMS, "CAP_PERFMON", "trace with kernel programs or perf"},
    {CAP_SYS_PTRACE, PRIVILEGES_OF_PROCESSES, "CAP_SYS_PTRACE",
     "look into other users' /proc/PID/root and fd"},
    {CAP_DAC_OVERRIDE, PRIVILEGES_OF_PROCESSES, "CAP_DAC_OVERRIDE",
     "connect to sockets of mode 0600"},
};

int privileges_missing(unsigned uses, char *ret, size_t size) {
    uint64_t effective;
    int r = capabilities_effective(&effective);
    if (r < 0)
        return r;
    size_t used = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < ELEMENTS_OF(needed) && used < size; i++) {
        bool held = effective & UINT64_C(1) << needed[i].capability;
        if (!held && (needed[i].use & uses))
            used += (size_t)snprintf(ret + used, size - used, "%s%s to %s", used > 0 ? ", " : "",
                                     needed[i].name, needed[i].purpose);
    }
    return 0;
}
