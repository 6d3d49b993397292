// The text of files below /proc/PID, proc(5). Each function takes the file's content (or a line of
// it) and believes nothing about it: -EBADMSG where it is not what the kernel writes.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// /proc/PID/stat: field 22, clock ticks since boot. The command in field 2 may hold anything.
int procfs_text_start_ticks(const char *stat, uint64_t *ret);
// /proc/PID/stat: field 3, one letter.
int procfs_text_run_state(const char *stat, char *ret);

enum { STATUS_UIDS = 4 };

typedef struct StatusText {
    uid_t uid; // effective
    gid_t gid;
    uid_t uids[STATUS_UIDS]; // real, effective, saved, of the filesystem
    pid_t tgid;
    pid_t namespace_pid; // innermost NSpid; the tgid on a kernel without that line, 0
                         // where the text ends before it would stand
} StatusText;
// /proc/PID/status. -ESRCH where the process was being reaped meanwhile: it has no pid any more.
int procfs_text_status(const char *status, StatusText *ret);

typedef struct StatusLife {
    char run_state;  // one letter, as in stat
    bool has_memory; // false from the exit on, before it is a zombie
} StatusLife;
// /proc/PID/status too: the same as its stat and exe tell, which block while an execve does.
int procfs_text_status_life(const char *status, StatusLife *ret);

// A line of /proc/PID/maps that is the named mapping, private or shared, of any protection: true,
// and its PROT_* bits. A file can be made to look the same: a hint.
bool procfs_text_is_mapping(const char *maps_line, int *ret_protection);

// A line of /proc/PID/maps that only a .NET runtime has, as far as its name says: that name,
// static. NULL for any other. A single file shows its memfd, NativeAOT nothing.
const char *procfs_text_runtime(const char *maps_line);

// /proc/self/timens_offsets: the boottime offset in nanoseconds.
int procfs_text_boottime_offset(const char *offsets, int64_t *ret);

// "socket:[INODE]", what a link in /proc/PID/fd says: true and the inode.
bool procfs_text_socket_link(const char *link, uint64_t *ret_inode);

// PROT_* bits as maps writes them, private mapping: "---p", "r-xp".
void procfs_text_protection(int protection, char ret[static 5]);
