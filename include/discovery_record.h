// The record that the kernel side writes and the daemon reads, through the ring buffer and through
// the scan iterator alike. Compiled twice (clang -target bpf, and the host compiler), hence fixed
// widths, explicit padding and the assertions below. Version it when its meaning or layout changes.
// SPDX-License-Identifier: MIT
#pragma once

// The kernel side brings its own __u32 and friends; user space takes them from the UAPI.
#ifndef __bpf__
#include <linux/types.h>
#endif

#define DISCOVERY_RECORD_VERSION 1

enum discovery_record_kind {
    // Iterator only, a header without a body: so many files were visited. It ends a read() before
    // the walk has gone on for long.
    DISCOVERY_RECORD_PROGRESS = 0,
    // The process maps a memfd named dotnet_ipc_created.
    DISCOVERY_RECORD_MAPPING = 1,
    // The process was found holding a listening diagnostic socket of its own.
    DISCOVERY_RECORD_SCAN = 2,
    // A followed process called execve; exec_count is the new one.
    DISCOVERY_RECORD_EXEC = 3,
    // The process calls listen() on a socket that is bound to a diagnostic socket's name.
    DISCOVERY_RECORD_LISTEN = 4,
};

#define DISCOVERY_COMMAND_SIZE 16     // TASK_COMM_LEN, with its NUL
#define DISCOVERY_SOCKET_PATH_MAX 108 // sizeof(sockaddr_un.sun_path); may be full, without a NUL

struct discovery_record_header {
    __u16 version; // DISCOVERY_RECORD_VERSION
    __u16 kind;    // enum discovery_record_kind
    __u32 size;    // of the whole record, this header included
};

struct discovery_record {
    struct discovery_record_header header;
    __u64 timestamp_ns;  // CLOCK_BOOTTIME of the initial time namespace
    __u64 start_time_ns; // when the process started, same clock
    __u64 exec_count;    // task->self_exec_id: how often this pid has called execve
    __u64 socket_inode;  // of the listening diagnostic socket, 0 where none was seen
    __u32 pid;           // thread group id in the pid namespace the daemon was loaded for
    __u32 namespace_pid; // the same process in its own, innermost pid namespace
    __u32 uid;           // effective, in the initial user namespace
    __u32 gid;
    __u32 protection;         // PROT_* of the mapping, mapping records only
    __u32 flags;              // MAP_* of the mapping, mapping records only
    __u32 socket_path_length; // bytes used in socket_path, 0 where none was seen
    char command[DISCOVERY_COMMAND_SIZE];
    char socket_path[DISCOVERY_SOCKET_PATH_MAX]; // as bound: may be relative, is never abstract
};

_Static_assert(sizeof(struct discovery_record_header) == 8, "header layout");
_Static_assert(sizeof(struct discovery_record) == 192, "record layout, no implicit padding");
_Static_assert(__builtin_offsetof(struct discovery_record, pid) == 40, "record layout");
_Static_assert(__builtin_offsetof(struct discovery_record, command) == 68, "record layout");
_Static_assert(__builtin_offsetof(struct discovery_record, socket_path) == 84, "record layout");
