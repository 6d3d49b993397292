// The signal: a process maps a memfd named dotnet_ipc_created. One filter for every place in the
// kernel that sees a mapping's file, ordered so that what is no such memfd leaves at the first test
// that tells it.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#pragma once

#include "socket.bpf.h"

#define SIGNAL_NAME "memfd:" DISCOVERY_MAPPING_NAME
#define SIGNAL_NAME_LENGTH (sizeof(SIGNAL_NAME) - 1)

_Static_assert(SIGNAL_NAME_LENGTH == 24, "compared as three words");

// The name comes from the file's dentry. The caller's own string at memfd_create would have to be
// read from user memory, which fails where its page was never touched; this memory is the kernel's.
static __always_inline bool signal_is_named(struct file *file) {
    struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
    if (BPF_CORE_READ(dentry, d_name.len) != SIGNAL_NAME_LENGTH)
        return false;
    struct name name = {};
    bpf_probe_read_kernel(name.words, SIGNAL_NAME_LENGTH, BPF_CORE_READ(dentry, d_name.name));
    if (!NAME_BEGINS_WITH(name, SIGNAL_NAME))
        return false;
    // Anyone can give a file on a tmpfs this name; a memfd is on the kernel's own mount and is the
    // root of its tree.
    return (BPF_CORE_READ(file, f_path.mnt, mnt_flags) & MNT_INTERNAL) &&
           BPF_CORE_READ(dentry, d_parent) == dentry;
}

// A runtime maps a memfd that it made itself. One that another user made was handed over, to a
// service that maps what it is sent (a journal, a compositor) and that this user must not name.
static __always_inline bool signal_is_own(struct file *file, struct task_struct *task) {
    return BPF_CORE_READ(file, f_cred, euid.val) == BPF_CORE_READ(task, cred, euid.val);
}

// The current task maps this file. Any protection counts: runtimes use PROT_NONE.
static __always_inline void signal_mapping(struct file *file, __u32 protection, __u32 flags) {
    if (!signal_is_named(file))
        return;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    if (!signal_is_own(file, task))
        return;
    struct task_struct *leader = BPF_CORE_READ(task, group_leader);
    struct process_pids pids;
    if (!process_pids(leader, &pids))
        return;

    struct discovery_record *record = bpf_ringbuf_reserve(&records, sizeof *record, 0);
    if (!record) {
        count_lost();
        return;
    }
    process_describe(record, DISCOVERY_RECORD_MAPPING, leader, &pids);
    record->protection = protection;
    record->flags = flags;
    socket_find(record, task, BPF_CORE_READ(leader, thread_pid));
    // Before the daemon can read the record, or it might tell the kernel to forget too early.
    process_follow(record);
    bpf_ringbuf_submit(record, 0);
}
