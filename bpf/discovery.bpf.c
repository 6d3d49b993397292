// The kernel side: one short program per place where something is to be seen. Here are those that
// no mechanism changes; hooks.bpf.h has the others. The daemon goes on with whatever works.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "hooks.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// A progress record at each process, and after so many files: together with the size of the
// daemon's reads it bounds how long one read walks.
enum { SCAN_PROGRESS = 64 };

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

// The process that the scan came to last: the walk comes to all files of one in a row.
static __u32 scanned;

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

// What runs already: every descriptor of every process once, those of threads that share them left
// out. A diagnostic socket is found by its name, so this finds runtimes that map nothing too. Most
// files are none: they leave on fields that are read without a call.
SEC("iter/task_file")
int discover_scan(struct bpf_iter__task_file *ctx) {
    // Copied before the test, or the verifier takes a second read for one of an unchecked pointer.
    struct seq_file *seq = ctx->meta->seq;
    struct task_struct *task = ctx->task;
    struct file *file = ctx->file;
    if (!task || !file)
        return 0;
    struct task_struct *leader = task->group_leader;
    // Before 5.11 the kernel visits a descriptor table once for each thread that has it.
    if (task != leader && task->files == leader->files)
        return 0;

    __u64 visited = ctx->meta->seq_num;
    __u32 process = task->tgid;
    bool is_first = visited == 0 || process != scanned;
    scanned = process;
    if (is_first || visited % SCAN_PROGRESS == 0) {
        struct discovery_record_header progress = {
            .version = DISCOVERY_RECORD_VERSION,
            .kind = DISCOVERY_RECORD_PROGRESS,
            .size = sizeof progress,
        };
        bpf_seq_write(seq, &progress, sizeof progress);
    }
    bool is_socket = (file->f_inode->i_mode & S_IFMT) == S_IFSOCK;
    struct process_pids pids;
    if ((!is_first && !is_socket) || !process_pids(leader, &pids))
        return 0;
    if (is_first)
        scan_exec(seq, leader, &pids);
    if (is_socket)
        scan_socket(seq, leader, &pids, file);
    return 0;
}
