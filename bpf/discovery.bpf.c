// The kernel side: one short program per place where something is to be seen. Each is a feature of
// its own; the daemon loads and attaches them one by one and goes on with those that work.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "signal.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// A progress record after so many files: together with the size of the daemon's reads it bounds how
// long one read walks.
enum { SCAN_PROGRESS = 64 };

// Every mmap of every process comes here, so what has no file leaves on its arguments alone. A call
// that fails later was told of all the same: the record is a hint.
SEC("tracepoint/syscalls/sys_enter_mmap")
int discover_mapping(struct syscall_enter *ctx) {
    __u32 flags = (__u32)ctx->arguments[3];
    __s32 fd = (__s32)ctx->arguments[4];
    if (fd < 0 || (flags & MAP_ANONYMOUS))
        return 0;
    struct file *file = signal_file(fd);
    if (file)
        signal_mapping(file, (__u32)ctx->arguments[2], flags);
    return 0;
}

// Runtimes before 10.0.5 map nothing: for them this is the moment. The entry, although the port
// opens only now, since a program on the way out of a syscall as well would cost every syscall of
// the host as much again.
SEC("tracepoint/syscalls/sys_enter_listen")
int discover_listen(struct syscall_enter *ctx) {
    struct file *file = signal_file((__s32)ctx->arguments[0]);
    if (file)
        signal_listen(file);
    return 0;
}

// execve keeps pid and start time: for a process that the daemon knows it is the end of a life. By
// now the exec count is the new one. A raw tracepoint, since it needs no tracefs.
SEC("raw_tp/sched_process_exec")
int discover_exec(__attribute__((unused)) void *ctx) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct task_struct *leader = BPF_CORE_READ(task, group_leader);
    struct process_pids pids;
    if (!process_pids(leader, &pids) || !bpf_map_lookup_elem(&followed, &pids.pid))
        return 0;

    struct discovery_record *record = bpf_ringbuf_reserve(&records, sizeof *record, 0);
    if (!record) {
        // The entry stays, and the rescan that follows a loss finds the count that differs.
        count_lost();
        return 0;
    }
    process_describe(record, DISCOVERY_RECORD_EXEC, leader, &pids);
    bpf_map_delete_elem(&followed, &pids.pid);
    bpf_ringbuf_submit(record, 0);
    return 0;
}

// A followed process with another exec count than was told: its exec record was lost.
static __always_inline void scan_exec(struct seq_file *seq, struct task_struct *leader,
                                      const struct process_pids *pids) {
    __u32 pid = pids->pid;
    __u64 *told = bpf_map_lookup_elem(&followed, &pid);
    if (!told || *told == EXEC_COUNT_UNKNOWN || *told == BPF_CORE_READ(leader, self_exec_id))
        return;
    struct discovery_record record;
    process_describe(&record, DISCOVERY_RECORD_EXEC, leader, pids);
    if (bpf_seq_write(seq, &record, sizeof record) == 0)
        bpf_map_delete_elem(&followed, &pid);
}

static __always_inline void scan_socket(struct seq_file *seq, struct task_struct *leader,
                                        const struct process_pids *pids, struct file *file) {
    if (socket_match(file, BPF_CORE_READ(leader, thread_pid)) == SOCKET_OTHER)
        return;
    struct discovery_record record;
    process_describe(&record, DISCOVERY_RECORD_SCAN, leader, pids);
    socket_describe(&record, file);
    process_follow(&record);
    bpf_seq_write(seq, &record, sizeof record);
}

// What runs already: every descriptor of every process once, threads that share theirs left out by
// the kernel. A diagnostic socket is found by its name, so this finds runtimes that map nothing
// too.
SEC("iter/task_file")
int discover_scan(struct bpf_iter__task_file *ctx) {
    // Copied before the test, or the verifier takes a second read for one of an unchecked pointer.
    struct seq_file *seq = ctx->meta->seq;
    struct task_struct *task = ctx->task;
    struct file *file = ctx->file;
    if (!task || !file)
        return 0;

    if (ctx->meta->seq_num % SCAN_PROGRESS == SCAN_PROGRESS - 1) {
        struct discovery_record_header progress = {
            .version = DISCOVERY_RECORD_VERSION,
            .kind = DISCOVERY_RECORD_PROGRESS,
            .size = sizeof progress,
        };
        bpf_seq_write(seq, &progress, sizeof progress);
    }
    struct task_struct *leader = BPF_CORE_READ(task, group_leader);
    struct process_pids pids;
    if (!process_pids(leader, &pids))
        return 0;
    scan_exec(seq, leader, &pids);
    scan_socket(seq, leader, &pids, file);
    return 0;
}
