// The places in the kernel where the signals are seen, by mechanism, the cheapest first. The daemon
// loads those of one mechanism, and of these the ones whose function this kernel has.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#pragma once

#include "signal.bpf.h"

static __always_inline void mapping_with(struct file *file, unsigned long flags) {
    signal_mapping(file, flags & VM_PROTECTION, flags & VM_SHARED ? MAP_SHARED : MAP_PRIVATE);
}

static __always_inline void mapping_of_vma(struct file *file, struct vm_area_struct *vma) {
    struct vm_area_struct___bits *bits = (void *)vma;
    mapping_with(file, bpf_core_field_exists(vma->vm_flags)
                           ? BPF_CORE_READ(vma, vm_flags)
                           : BPF_CORE_READ(bits, flags.__vma_flags[0]));
}

static __always_inline void mapping_of_desc(struct vm_area_desc *desc) {
    struct vm_area_desc___bits *bits = (void *)desc;
    mapping_with(BPF_CORE_READ(desc, file), bpf_core_field_exists(desc->vm_flags)
                                                ? BPF_CORE_READ(desc, vm_flags)
                                                : BPF_CORE_READ(bits, vma_flags.__vma_flags[0]));
}

// fentry and fexit: a call patched into the function's beginning or end. A file system's own mmap
// is reached by mappings of its files alone: shmem's has memfds, hugetlbfs's those of huge pages.
SEC("fentry/shmem_mmap")
int fentry_shmem_mmap(__u64 *arguments) {
    mapping_of_vma((struct file *)arguments[0], (struct vm_area_struct *)arguments[1]);
    return 0;
}

SEC("fentry/hugetlbfs_file_mmap")
int fentry_hugetlb_mmap(__u64 *arguments) {
    mapping_of_vma((struct file *)arguments[0], (struct vm_area_struct *)arguments[1]);
    return 0;
}

SEC("fentry/shmem_mmap_prepare")
int fentry_shmem_prepare(__u64 *arguments) {
    mapping_of_desc((struct vm_area_desc *)arguments[0]);
    return 0;
}

SEC("fentry/hugetlbfs_file_mmap_prepare")
int fentry_hugetlb_prepare(__u64 *arguments) {
    mapping_of_desc((struct vm_area_desc *)arguments[0]);
    return 0;
}

// Where a kernel has neither of shmem's: every mapping passes here, anonymous ones without a file.
SEC("fentry/security_mmap_file")
int fentry_security(__u64 *arguments) {
    struct file *file = (struct file *)arguments[0];
    if (file)
        signal_mapping(file, (__u32)arguments[1], (__u32)arguments[2]);
    return 0;
}

// At its end, where it has succeeded: the port is open.
SEC("fexit/unix_listen")
int fexit_unix_listen(__u64 *arguments) {
    if ((__s32)arguments[2] == 0)
        signal_listen((struct socket *)arguments[0]);
    return 0;
}

static __always_inline unsigned long first_argument(void *registers) {
    struct pt_regs___x86 *x86 = registers;
    struct pt_regs___arm64 *arm64 = registers;
    return bpf_core_field_exists(x86->di) ? BPF_CORE_READ(x86, di) : BPF_CORE_READ(arm64, regs[0]);
}

static __always_inline unsigned long second_argument(void *registers) {
    struct pt_regs___x86 *x86 = registers;
    struct pt_regs___arm64 *arm64 = registers;
    return bpf_core_field_exists(x86->si) ? BPF_CORE_READ(x86, si) : BPF_CORE_READ(arm64, regs[1]);
}

static __always_inline unsigned long third_argument(void *registers) {
    struct pt_regs___x86 *x86 = registers;
    struct pt_regs___arm64 *arm64 = registers;
    return bpf_core_field_exists(x86->dx) ? BPF_CORE_READ(x86, dx) : BPF_CORE_READ(arm64, regs[2]);
}

// kprobes on the same functions; one program serves both of a kind.
SEC("kprobe/shmem_mmap")
int kprobe_mmap(void *registers) {
    mapping_of_vma((struct file *)first_argument(registers),
                   (struct vm_area_struct *)second_argument(registers));
    return 0;
}

SEC("kprobe/shmem_mmap_prepare")
int kprobe_mmap_prepare(void *registers) {
    mapping_of_desc((struct vm_area_desc *)first_argument(registers));
    return 0;
}

SEC("kprobe/security_mmap_file")
int kprobe_security(void *registers) {
    struct file *file = (struct file *)first_argument(registers);
    if (file)
        signal_mapping(file, (__u32)second_argument(registers), (__u32)third_argument(registers));
    return 0;
}

SEC("kprobe/unix_listen")
int kprobe_unix_listen(void *registers) {
    signal_listen((struct socket *)first_argument(registers));
    return 0;
}

// Every mmap of every process comes here, so what has no file leaves on its arguments alone. A call
// that fails later was told of all the same: the record is a hint.
static __always_inline void call_of_mmap(__s32 fd, __u32 protection, __u32 flags) {
    if (fd < 0 || (flags & MAP_ANONYMOUS))
        return;
    struct file *file = signal_file((__u32)fd);
    if (file)
        signal_mapping(file, protection, flags);
}

static __always_inline void call_of_listen(__u32 fd) {
    struct file *file = signal_file(fd);
    struct socket *socket = file ? socket_of(file) : NULL;
    if (socket)
        signal_listen(socket);
}

SEC("tracepoint/syscalls/sys_enter_mmap")
int syscall_mmap(struct syscall_enter *call) {
    call_of_mmap((__s32)call->arguments[4], (__u32)call->arguments[2], (__u32)call->arguments[3]);
    return 0;
}

// The entry, although the port opens only now, since a program on the way out of a syscall as well
// would cost every syscall of the host as much again.
SEC("tracepoint/syscalls/sys_enter_listen")
int syscall_listen(struct syscall_enter *call) {
    call_of_listen((__u32)call->arguments[0]);
    return 0;
}

// The numbers of a 32-bit program's calls are others' (mmap's is link's there); no runtime that is
// looked for here is one.
static __always_inline bool is_compat(void) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct task_struct___x86 *x86 = (void *)task;
    return bpf_core_field_exists(x86->thread_info.status)
               ? BPF_CORE_READ(x86, thread_info.status) & TS_COMPAT_X86
               : BPF_CORE_READ(task, thread_info.flags) & TIF_32BIT_ARM64;
}

static __always_inline void call_with(long number, void *registers) {
    struct pt_regs___x86 *x86 = registers;
    struct pt_regs___arm64 *arm64 = registers;
    if (is_compat())
        return;
    if (number == number_listen)
        call_of_listen((__u32)first_argument(registers));
    else if (bpf_core_field_exists(x86->r8))
        call_of_mmap((__s32)BPF_CORE_READ(x86, r8), (__u32)BPF_CORE_READ(x86, dx),
                     (__u32)BPF_CORE_READ(x86, r10));
    else
        call_of_mmap((__s32)BPF_CORE_READ(arm64, regs[4]), (__u32)BPF_CORE_READ(arm64, regs[2]),
                     (__u32)BPF_CORE_READ(arm64, regs[3]));
}

// Every system call of every process comes here. One program for both signals, since a second one
// would cost as much again; what was left out has the number of no call.
SEC("raw_tp/sys_enter")
int raw_sys_enter(__u64 *arguments) {
    long number = (long)arguments[1];
    if (number == number_mmap || number == number_listen)
        call_with(number, (void *)arguments[0]);
    return 0;
}
