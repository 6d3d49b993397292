// A FUSE server may answer never, so may a dead file server, and a thread that waits for one cannot
// be woken: it would be lost to its user, and the attempt with it. statfs() would tell the type by
// asking that very server; mountinfo tells it without.
//
// What this cannot see is an overlay whose layers lie on FUSE: overlays are what containers live
// on.
// SPDX-License-Identifier: MIT
#include "mount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "macro.h"
#include "procfs.h"

// Filesystems without a block device of their own (those with one are the kernel's).
static const char *const kernels_own[] = {
    "tmpfs", "overlay", "btrfs", "zfs", "bcachefs", "ramfs", "rootfs", "devtmpfs", "aufs",
};

typedef struct Search {
    uint64_t mount_id;
    bool kernels_own;
} Search;

// A line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS,
// with the spaces in each field escaped. All three numbers are required, so that the rest of a line
// too long for one piece is not taken for a line.
static int on_mount(void *userdata, const char *line, size_t size) {
    Search *search = userdata;
    uint64_t id;
    unsigned parent, major, minor;
    (void)size;
    if (sscanf(line, "%" SCNu64 " %u %u:%u ", &id, &parent, &major, &minor) != 4 ||
        id != search->mount_id)
        return 0;

    const char *type = strstr(line, " - ");
    if (!type)
        return 1;
    type += 3;
    size_t length = strcspn(type, " ");
    for (size_t i = 0; i < ELEMENTS_OF(kernels_own); i++) {
        if (strlen(kernels_own[i]) == length && strncmp(kernels_own[i], type, length) == 0)
            search->kernels_own = true;
    }
    return 1;
}

bool mount_is_kernels_own(const Target *target, const struct statx *file) {
    if (file->stx_dev_major != 0)
        return true;
    if (!(file->stx_mask & STATX_MNT_ID))
        return false;
    Search search = {.mount_id = file->stx_mnt_id};
    int r = procfs_each_line(target->directory, "mountinfo", BOUND_MOUNT_TABLE, on_mount, &search);
    return r == 1 && search.kernels_own;
}
