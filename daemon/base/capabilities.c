// capget(2), without a library: one call, and the constants are the kernel's.
// SPDX-License-Identifier: MIT
#include "capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

int capabilities_effective(uint64_t *ret) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capget, &header, data) < 0)
        return -errno;
    *ret = (uint64_t)data[1].effective << 32 | data[0].effective;
    return 0;
}
