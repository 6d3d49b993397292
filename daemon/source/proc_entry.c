// Facts of one process that only /proc has.
// SPDX-License-Identifier: MIT
#include "proc_entry.h"

#include <errno.h>
#include <string.h>

#include "bounds.h"
#include "cleanup.h"
#include "procfs.h"
#include "procfs_text.h"

int proc_entry_start_ticks(int directory, uint64_t *ret) {
    char text[1024];
    size_t size;
    int r = procfs_read(directory, "stat", text, sizeof text, &size);
    return r < 0 ? r : procfs_text_start_ticks(text, ret);
}

int proc_entry_open(const ProcessKey *key, int *ret) {
    _cleanup_close_ int directory = -1;
    uint64_t ticks;
    int r = procfs_open(key->pid, &directory);
    if (r >= 0)
        r = proc_entry_start_ticks(directory, &ticks);
    if (r == -ENOENT || r == -ESRCH)
        return PROC_ENTRY_GONE;
    if (r < 0)
        return r;
    if (ticks != key->start_ticks)
        return PROC_ENTRY_GONE;
    *ret = TAKE_FD(directory);
    return PROC_ENTRY_OK;
}

int proc_entry_describe(int directory, Signal *signal) {
    char text[BOUND_PROC_FILE];
    size_t size;
    StatusText status;
    int r = procfs_read(directory, "status", text, sizeof text, &size);
    if (r >= 0)
        r = procfs_text_status(text, &status);
    if (r < 0)
        return r;
    signal->namespace_pid = status.namespace_pid;
    signal->uid = status.uid;
    signal->gid = status.gid;
    // It ends with a newline.
    if (procfs_read(directory, "comm", text, sizeof text, &size) >= 0 && size > 0)
        memcpy(signal->command, text, size - 1 < COMMAND_SIZE ? size - 1 : COMMAND_SIZE - 1);
    return 0;
}
