// The signals: a process maps a memfd named dotnet_ipc_created, or listens at a diagnostic socket.
// One filter for every place in the kernel that sees the file of either, ordered so that what is no
// such file leaves at the first test that tells it.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#pragma once

#include "socket.bpf.h"

#define SIGNAL_NAME "memfd:" DISCOVERY_MAPPING_NAME
#define SIGNAL_NAME_LENGTH (sizeof(SIGNAL_NAME) - 1)

_Static_assert(SIGNAL_NAME_LENGTH == 24, "compared as three words");

// The file of one of the current task's descriptors, NULL where it is not open.
static __always_inline struct file *signal_file(__s32 fd) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    if ((__u32)fd >= BPF_CORE_READ(table, max_fds))
        return NULL;
    struct file *file = NULL;
    bpf_probe_read_kernel(&file, sizeof file, BPF_CORE_READ(table, fd) + fd);
    return file;
}

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

// A runtime uses files that it made itself. One that another user made was handed over, to a
// service that maps what it is sent (a journal, a compositor) or listens where it is told to, and
// that this user must not name.
static __always_inline bool signal_is_own(struct file *file, struct task_struct *task) {
    return BPF_CORE_READ(file, f_cred, euid.val) == BPF_CORE_READ(task, cred, euid.val);
}

// Room for the record of a signal, with who the current task's process is; NULL where the file is
// none of its own, the process none of the daemon's business, or no room left.
static __always_inline struct discovery_record *signal_begin(__u16 kind, struct file *file) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    if (!signal_is_own(file, task))
        return NULL;
    struct task_struct *leader = BPF_CORE_READ(task, group_leader);
    struct process_pids pids;
    if (!process_pids(leader, &pids))
        return NULL;
    struct discovery_record *record = bpf_ringbuf_reserve(&records, sizeof *record, 0);
    if (record)
        process_describe(record, kind, leader, &pids);
    else
        count_lost();
    return record;
}

static __always_inline void signal_end(struct discovery_record *record) {
    // Before the daemon can read the record, or it might tell the kernel to forget too early.
    process_follow(record);
    bpf_ringbuf_submit(record, 0);
}

// The current task maps this file. Any protection counts: runtimes use PROT_NONE.
static __always_inline void signal_mapping(struct file *file, __u32 protection, __u32 flags) {
    if (!signal_is_named(file))
        return;
    struct discovery_record *record = signal_begin(DISCOVERY_RECORD_MAPPING, file);
    if (!record)
        return;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    record->protection = protection;
    record->flags = flags;
    socket_find(record, task, BPF_CORE_READ(task, group_leader, thread_pid));
    signal_end(record);
}

// The current task is about to listen at this file. Whose the port will be, only a connection
// tells: a socket that listens already gets another owner by this call.
static __always_inline void signal_listen(struct file *file) {
    struct sock *sk = socket_of(file);
    if (!sk || socket_name(sk) == SOCKET_OTHER)
        return;
    struct discovery_record *record = signal_begin(DISCOVERY_RECORD_LISTEN, file);
    if (!record)
        return;
    socket_describe(record, file);
    signal_end(record);
}
