// The signals: a process maps a memfd named dotnet_ipc_created, or listens at a diagnostic socket.
// One filter for every place in the kernel that sees the file of either, ordered so that what is no
// such file leaves at the first test that tells it.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#pragma once

#include "socket.bpf.h"

#define SIGNAL_NAME "memfd:" DISCOVERY_MAPPING_NAME
#define SIGNAL_NAME_TESTING "memfd:" DISCOVERY_TESTING_NAME
#define SIGNAL_NAME_LENGTH (sizeof(SIGNAL_NAME) - 1)

_Static_assert(SIGNAL_NAME_LENGTH == 24, "compared as three words");
_Static_assert(sizeof(SIGNAL_NAME_TESTING) == sizeof(SIGNAL_NAME), "told apart by its last word");

enum signal_match {
    SIGNAL_OTHER = 0,
    SIGNAL_OF_ANY,
    SIGNAL_OF_DAEMON, // counts where it is the daemon's
};

// The file of one of the current task's descriptors, NULL where it is not open. Every mmap of a
// file comes here: where the kernel vouches for the task's pointer (5.11) fields are read without a
// call.
static __always_inline struct file *signal_file(__u32 fd) {
    struct file **files;
    if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
        struct fdtable *table = bpf_get_current_task_btf()->files->fdt;
        if (fd >= table->max_fds)
            return NULL;
        files = table->fd;
    } else {
        struct task_struct *task = (struct task_struct *)bpf_get_current_task();
        struct fdtable *table = BPF_CORE_READ(task, files, fdt);
        if (fd >= BPF_CORE_READ(table, max_fds))
            return NULL;
        files = BPF_CORE_READ(table, fd);
    }
    struct file *file = NULL;
    bpf_probe_read_kernel(&file, sizeof file, files + fd);
    return file;
}

// The name comes from the file's dentry. The caller's own string at memfd_create would have to be
// read from user memory, which fails where its page was never touched; this memory is the kernel's.
static __always_inline enum signal_match signal_name(struct file *file, struct dentry *dentry) {
    struct name name = {};
    bpf_probe_read_kernel(name.words, SIGNAL_NAME_LENGTH, BPF_CORE_READ(dentry, d_name.name));
    bool created = NAME_BEGINS_WITH(name, SIGNAL_NAME);
    if (!created && !NAME_BEGINS_WITH(name, SIGNAL_NAME_TESTING))
        return SIGNAL_OTHER;
    // Anyone can give a file on a tmpfs this name; a memfd is on the kernel's own mount and is the
    // root of its tree.
    if (!(BPF_CORE_READ(file, f_path.mnt, mnt_flags) & MNT_INTERNAL) ||
        BPF_CORE_READ(dentry, d_parent) != dentry)
        return SIGNAL_OTHER;
    return created ? SIGNAL_OF_ANY : SIGNAL_OF_DAEMON;
}

// A runtime uses files that it made itself. One that another user made was handed over, to a
// service that maps what it is sent (a journal, a compositor) or listens where it is told to, and
// that this user must not name.
static __always_inline bool signal_is_own(struct file *file, struct task_struct *task) {
    return BPF_CORE_READ(file, f_cred, euid.val) == BPF_CORE_READ(task, cred, euid.val);
}

// Room for the record of a signal, with who the current task's process is; NULL where the file is
// none of its own, the process none of the daemon's business, or no room left.
static __always_inline struct discovery_record *signal_begin(__u16 kind, struct file *file,
                                                             enum signal_match match) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    if (!signal_is_own(file, task))
        return NULL;
    struct task_struct *leader = BPF_CORE_READ(task, group_leader);
    struct process_pids pids;
    if (!process_pids(leader, &pids))
        return NULL;
    if (match == SIGNAL_OF_DAEMON && pids.pid != daemon_pid)
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

// In the object once, and called by the programs: signal_tell_mapping() and signal_listen().
static __noinline void signal_tell_mapping(struct file *file, struct dentry *dentry,
                                           __u32 protection, __u32 flags) {
    enum signal_match match = signal_name(file, dentry);
    if (match == SIGNAL_OTHER)
        return;
    struct discovery_record *record = signal_begin(DISCOVERY_RECORD_MAPPING, file, match);
    if (!record)
        return;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    record->protection = protection;
    record->flags = flags;
    socket_find(record, task, BPF_CORE_READ(task, group_leader, thread_pid));
    signal_end(record);
}

// The current task maps this file. Any protection counts: runtimes use PROT_NONE.
static __always_inline void signal_mapping(struct file *file, __u32 protection, __u32 flags) {
    struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
    if (BPF_CORE_READ(dentry, d_name.len) == SIGNAL_NAME_LENGTH)
        signal_tell_mapping(file, dentry, protection, flags);
}

// The current task listens at this socket, or is about to. Whose the port will be, only a
// connection tells: a socket that listens already gets another owner by this call.
static __noinline void signal_listen(struct socket *socket) {
    struct sock *sk = socket_stream(socket);
    if (!sk)
        return;
    enum signal_match match = socket_name(sk) == SOCKET_OTHER ? SIGNAL_OF_DAEMON : SIGNAL_OF_ANY;
    struct file *file = BPF_CORE_READ(socket, file);
    struct discovery_record *record = signal_begin(DISCOVERY_RECORD_LISTEN, file, match);
    if (!record)
        return;
    if (match == SIGNAL_OF_ANY)
        socket_describe(record, file);
    signal_end(record);
}
