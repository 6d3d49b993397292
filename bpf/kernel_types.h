// The kernel's types as far as the programs here read them, written by hand: libbpf finds each
// field by name in the running kernel's BTF (CO-RE), so only names and types count, never the
// layout. Building needs no kernel headers and no BTF of the build host.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
// Named by libbpf's helper declarations.
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

// <linux/bpf.h>; its own includes are not found with -target bpf on a multiarch system.
enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0 };
// By name as the kernel's BTF has it: whether it has this helper is asked there.
enum bpf_func_id {
    BPF_FUNC_get_current_task_btf = 158,
};

// Values of the generic ABI, the same on every architecture that this runs on.
enum {
    AF_UNIX = 1,
    SOCK_STREAM = 1,
    TCP_LISTEN = 10, // Unix sockets use TCP's states
    S_IFMT = 0170000,
    S_IFSOCK = 0140000,
    MAP_ANONYMOUS = 0x20,
    MAP_SHARED = 1,
    MAP_PRIVATE = 2,
    VM_PROTECTION = 7, // VM_READ, VM_WRITE and VM_EXEC are numbered as PROT_* are
    VM_SHARED = 8,
    TS_COMPAT_X86 = 2,         // of thread_info.status: the call is a 32-bit one
    TIF_32BIT_ARM64 = 1 << 22, // of thread_info.flags: so is the task
    MNT_INTERNAL = 0x4000,     // a mount that only the kernel itself uses, as memfds' is
    MAX_PID_NS_LEVEL = 32,
};

// What a program on a syscall tracepoint gets: events/syscalls/sys_enter_*/format. The arguments
// are at the same place in every kernel, also where struct trace_entry is longer; for CO-RE the
// kernel has no type that is right everywhere.
struct syscall_enter {
    __u64 common;
    __u64 number;
    __u64 arguments[6];
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
    __u32 val;
} kuid_t;

typedef struct {
    __u32 val;
} kgid_t;

struct cred {
    kuid_t euid;
    kgid_t egid;
};

struct ns_common {
    __u32 inum;
};

struct pid_namespace {
    struct ns_common ns;
};

// Read as a whole and as an array: this one has the kernel's layout.
struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct pid {
    __u32 level;
    struct upid numbers[1];
};

struct qstr {
    __u32 len;
    const unsigned char *name;
};

struct dentry {
    struct dentry *d_parent;
    struct qstr d_name;
};

struct vfsmount {
    int mnt_flags;
};

struct path {
    struct vfsmount *mnt;
    struct dentry *dentry;
};

struct inode {
    __u16 i_mode;
    unsigned long i_ino;
};

struct file {
    struct path f_path;
    struct inode *f_inode;
    const struct cred *f_cred; // of whoever opened it
    void *private_data;
};

// Where the flags of a mapping are, and what a file's own mmap gets, depends on the kernel.
struct vma_flags___bits {
    unsigned long __vma_flags[1];
};

struct vm_area_struct {
    unsigned long vm_flags;
};

struct vm_area_struct___bits {
    struct vma_flags___bits flags;
};

struct vm_area_desc {
    struct file *file;
    unsigned long vm_flags; // up to 6.19
};

struct vm_area_desc___bits {
    struct vma_flags___bits vma_flags; // from 6.19 on
};

struct fdtable {
    __u32 max_fds;
    struct file **fd;
};

struct files_struct {
    struct fdtable *fdt;
};

struct thread_info___x86 {
    __u32 status;
};

struct task_struct___x86 {
    struct thread_info___x86 thread_info;
};

struct thread_info {
    unsigned long flags;
};

struct task_struct {
    struct thread_info thread_info;
    int tgid;
    struct task_struct *group_leader;
    struct pid *thread_pid;
    __u64 start_boottime;
    __u64 self_exec_id;
    const struct cred *cred;
    char comm[16];
    struct files_struct *files;
};

struct sock_common {
    __u16 skc_family;
    volatile unsigned char skc_state;
};

struct sock {
    struct sock_common __sk_common;
    struct pid *sk_peer_pid;
};

struct socket {
    short type;
    struct file *file;
    struct sock *sk;
};

struct sockaddr_un {
    __u16 sun_family;
    char sun_path[108];
};

struct unix_address {
    int len;
    struct sockaddr_un name[1];
};

struct unix_sock {
    struct unix_address *addr;
    struct path path;
};

// The registers of a call, of a function and of the system alike but for the fourth argument.
struct pt_regs___x86 {
    unsigned long di, si, dx, r10, r8;
};

struct pt_regs___arm64 {
    unsigned long regs[31];
};

struct seq_file;

struct bpf_iter_meta {
    union {
        struct seq_file *seq;
        __u64 : 64;
    };
    __u64 session_id;
    __u64 seq_num;
} __attribute__((aligned(8)));

struct bpf_iter__task_file {
    union {
        struct bpf_iter_meta *meta;
        __u64 : 64;
    };
    union {
        struct task_struct *task;
        __u64 : 64;
    };
    __u32 fd;
    union {
        struct file *file;
        __u64 : 64;
    };
} __attribute__((aligned(8)));

#pragma clang attribute pop
