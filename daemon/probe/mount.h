// Which filesystems may be asked anything.
// SPDX-License-Identifier: MIT
#pragma once

#include <linux/stat.h>
#include <stdbool.h>

#include "target.h"

// What statx() must be asked for, with AT_STATX_DONT_SYNC: then it answers from the kernel's
// memory.
#define MOUNT_STATX_MASK STATX_MNT_ID

// True where the kernel itself keeps the filesystem this was told of, in the target's mount
// namespace: no operation on it waits for a server, be it another machine or a process (FUSE).
bool mount_is_kernels_own(const Target *target, const struct statx *file);
