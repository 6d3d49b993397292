// capget(2), without a library: one call, and the constants are the kernel's.
// SPDX-License-Identifier: MIT
#include "privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "macro.h"

static const struct {
    unsigned capability;
    PrivilegeUse use;
    const char *name;
    const char *purpose;
} needed[] = {
    {CAP_BPF, PRIVILEGES_OF_PROGRAMS, "CAP_BPF", "load kernel programs"},
    {CAP_PERFMON, PRIVILEGES_OF_PROGRAMS, "CAP_PERFMON", "trace with kernel programs"},
    {CAP_SYS_PTRACE, PRIVILEGES_OF_PROCESSES, "CAP_SYS_PTRACE",
     "look into other users' /proc/PID/root and fd"},
    {CAP_DAC_OVERRIDE, PRIVILEGES_OF_PROCESSES, "CAP_DAC_OVERRIDE",
     "connect to sockets of mode 0600"},
};

int privileges_missing(unsigned uses, char *ret, size_t size) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capget, &header, data) < 0)
        return -errno;
    size_t used = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < ELEMENTS_OF(needed) && used < size; i++) {
        unsigned capability = needed[i].capability;
        bool held = data[capability / 32].effective & (1U << capability % 32);
        if (!held && (needed[i].use & uses))
            used += (size_t)snprintf(ret + used, size - used, "%s%s to %s", used > 0 ? ", " : "",
                                     needed[i].name, needed[i].purpose);
    }
    return 0;
}
