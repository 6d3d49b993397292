// A rival of the scan: every mapping of every thread, looked at by its name, as
// `bpftrace`-like tools find processes by what they map.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// "memfd:dotnet_ipc_created"
enum { NAME = 24, FOUND = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct vm_area_struct___bench {
    struct file *vm_file;
};

struct bpf_iter__task_vma {
    union {
        struct bpf_iter_meta *meta;
        __u64 : 64;
    };
    union {
        struct task_struct *task;
        __u64 : 64;
    };
    union {
        struct vm_area_struct___bench *vma;
        __u64 : 64;
    };
};

#pragma clang attribute pop

SEC("iter/task_vma")
int find_mapping(struct bpf_iter__task_vma *ctx) {
    static const char wanted[NAME] = "memfd:dotnet_ipc_created";
    struct seq_file *seq = ctx->meta->seq;
    struct task_struct *task = ctx->task;
    struct vm_area_struct___bench *vma = ctx->vma;
    if (!task || !vma || !vma->vm_file)
        return 0;
    struct dentry *dentry = BPF_CORE_READ(vma, vm_file, f_path.dentry);
    if (BPF_CORE_READ(dentry, d_name.len) != NAME)
        return 0;
    char name[NAME];
    bpf_probe_read_kernel(name, sizeof name, BPF_CORE_READ(dentry, d_name.name));
    for (int i = 0; i < NAME; i++)
        if (name[i] != wanted[i])
            return 0;
    char found = FOUND;
    bpf_seq_write(seq, &found, sizeof found);
    return 0;
}
