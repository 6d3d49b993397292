// The listening socket of a diagnostic port, as the kernel holds it.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#pragma once

#include "bytes.bpf.h"
#include "discovery_names.h"
#include "process.bpf.h"

// Descriptors looked at for the socket of a process that just mapped the name. The port opens
// early, when few descriptors are open; where it is not among these the daemon finds it by itself.
// Every doubling doubles what the verifier has to walk.
enum { SOCKET_WALK = 256 };

enum socket_match {
    SOCKET_OTHER = 0,
    SOCKET_CUT,  // the name may be what is left of a diagnostic socket's
    SOCKET_FULL, // the name begins as a diagnostic socket's
};

static __always_inline enum socket_match socket_name(struct sock *sk) {
    // The last component, which is free here: searching the bound path for its last slash is not.
    // Unbound and abstract sockets have no dentry.
    struct dentry *dentry = BPF_CORE_READ((struct unix_sock *)sk, path.dentry);
    if (!dentry)
        return SOCKET_OTHER;
    struct name name = {};
    bpf_probe_read_kernel_str(name.words, sizeof name, BPF_CORE_READ(dentry, d_name.name));

    if (!NAME_BEGINS_WITH(name, DISCOVERY_SOCKET_PREFIX_CUT))
        return SOCKET_OTHER;
    if (NAME_BEGINS_WITH(name, DISCOVERY_DSROUTER_PREFIX))
        return SOCKET_OTHER;
    return NAME_BEGINS_WITH(name, DISCOVERY_SOCKET_PREFIX) ? SOCKET_FULL : SOCKET_CUT;
}

// NULL where the file is no socket.
static __always_inline struct socket *socket_of(struct file *file) {
    if ((BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
        return NULL;
    return BPF_CORE_READ(file, private_data);
}

// NULL where the socket is no Unix stream socket.
static __always_inline struct sock *socket_stream(struct socket *socket) {
    if (BPF_CORE_READ(socket, type) != SOCK_STREAM)
        return NULL;
    struct sock *sk = BPF_CORE_READ(socket, sk);
    return sk && BPF_CORE_READ(sk, __sk_common.skc_family) == AF_UNIX ? sk : NULL;
}

// Whether the file is a listening diagnostic socket of this very process: the one that called
// listen() is its owner (SO_PEERCRED would name it), a child that inherited the descriptor is not.
static __always_inline enum socket_match socket_match(struct file *file, struct pid *owner) {
    struct socket *socket = socket_of(file);
    struct sock *sk = socket ? socket_stream(socket) : NULL;
    if (!sk || BPF_CORE_READ(sk, __sk_common.skc_state) != TCP_LISTEN)
        return SOCKET_OTHER;
    if (bpf_core_field_exists(sk->sk_peer_pid) && BPF_CORE_READ(sk, sk_peer_pid) != owner)
        return SOCKET_OTHER;
    return socket_name(sk);
}

// Inode and path, as bound, of a file whose socket_name() matched.
static __always_inline void socket_describe(struct discovery_record *record, struct file *file) {
    struct socket *socket = BPF_CORE_READ(file, private_data);
    struct unix_sock *sk = (struct unix_sock *)BPF_CORE_READ(socket, sk);
    struct unix_address *address = BPF_CORE_READ(sk, addr);

    // The kernel ends a path with a NUL and counts it; with it a full path is 109 bytes.
    __u32 length = (__u32)BPF_CORE_READ(address, len) -
                   (__u32) __builtin_offsetof(struct sockaddr_un, sun_path) - 1;
    if (length == 0 || length > DISCOVERY_SOCKET_PATH_MAX)
        return;
    // Or the compiler uses the bound it knows and drops the one the verifier wants to see.
    barrier_var(length);
    if (length > DISCOVERY_SOCKET_PATH_MAX)
        return;
    if (bpf_probe_read_kernel(record->socket_path, length, &address->name[0].sun_path))
        return;
    record->socket_path_length = length;
    record->socket_inode = BPF_CORE_READ(file, f_inode, i_ino);
}

// What is not static is verified once, for itself and with numbers as arguments. Inlined, it would
// be walked anew for each descriptor and on each way there, which took most of the daemon's start;
// so does every value that one turn of the loop hands to the next.
__noinline enum socket_match socket_match_at(__u64 file, __u64 owner) {
    return file ? socket_match((struct file *)file, (struct pid *)owner) : SOCKET_OTHER;
}

// The first descriptor that matches so; NULL where none does.
__noinline __u64 socket_walk(__u64 files, __u32 size, __u64 owner, enum socket_match wanted) {
    for (__u32 fd = 0; fd < SOCKET_WALK && fd < size; fd++) {
        __u64 file = 0;
        bpf_probe_read_kernel(&file, sizeof file, (struct file **)files + fd);
        if (socket_match_at(file, owner) == wanted)
            return file;
    }
    return 0;
}

// Looks through the descriptors of a task for its process's socket; a whole name is better than a
// cut one.
static __always_inline void socket_find(struct discovery_record *record, struct task_struct *task,
                                        struct pid *owner) {
    struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    __u32 size = BPF_CORE_READ(table, max_fds);
    __u64 files = (__u64)BPF_CORE_READ(table, fd);
    __u64 found = socket_walk(files, size, (__u64)owner, SOCKET_FULL);
    if (!found)
        found = socket_walk(files, size, (__u64)owner, SOCKET_CUT);
    if (found)
        socket_describe(record, (struct file *)found);
}
