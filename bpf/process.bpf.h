// Who a process is: the part of a record that every kind has.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#pragma once

// First: it brings the types that the record is made of.
#include "maps.bpf.h"

#include "discovery_record.h"
#include <bpf/bpf_core_read.h>

struct process_pids {
    __u32 pid;       // in the daemon's pid namespace
    __u32 innermost; // in its own
};

// Both of a struct pid, the innermost one above. Not static, so that the verifier walks it once:
// socket.bpf.h has more about that.
__noinline __u64 process_numbers(__u64 address) {
    struct pid *pid = (struct pid *)address;
    __u32 level = BPF_CORE_READ(pid, level);
    const struct upid *numbers = __builtin_preserve_access_index(&pid->numbers[0]);
    __u32 found = 0, innermost = 0;

    for (__u32 i = 0; i <= MAX_PID_NS_LEVEL && i <= level; i++) {
        struct upid upid = {};
        bpf_probe_read_kernel(&upid, sizeof upid, numbers + i);
        innermost = (__u32)upid.nr;
        if (BPF_CORE_READ(upid.ns, ns.inum) == daemon_pid_namespace)
            found = innermost;
    }
    return (__u64)innermost << 32 | found;
}

// False where the process is not in the daemon's pid namespace: it is none of its business.
static __always_inline bool process_pids(struct task_struct *leader, struct process_pids *ret) {
    __u64 numbers = process_numbers((__u64)BPF_CORE_READ(leader, thread_pid));
    ret->pid = (__u32)numbers;
    ret->innermost = (__u32)(numbers >> 32);
    return ret->pid != 0;
}

// Start time, ids and name are the group leader's, whichever thread is running: so /proc/PID has
// it.
static __always_inline void process_describe(struct discovery_record *record, __u16 kind,
                                             struct task_struct *leader,
                                             const struct process_pids *pids) {
    const struct cred *cred = BPF_CORE_READ(leader, cred);

    __builtin_memset(record, 0, sizeof *record);
    record->header.version = DISCOVERY_RECORD_VERSION;
    record->header.kind = kind;
    record->header.size = sizeof *record;
    record->timestamp_ns = bpf_ktime_get_boot_ns();
    record->start_time_ns = BPF_CORE_READ(leader, start_boottime);
    record->exec_count = BPF_CORE_READ(leader, self_exec_id);
    record->pid = pids->pid;
    record->namespace_pid = pids->innermost;
    record->uid = BPF_CORE_READ(cred, euid.val);
    record->gid = BPF_CORE_READ(cred, egid.val);
    BPF_CORE_READ_INTO(&record->command, leader, comm);
}

// From here on an execve of the process is told. Where the map is full the daemon enters the
// process itself when it begins to follow it.
static __always_inline void process_follow(const struct discovery_record *record) {
    __u32 pid = record->pid;
    __u64 exec_count = record->exec_count;
    bpf_map_update_elem(&followed, &pid, &exec_count, BPF_ANY);
}
