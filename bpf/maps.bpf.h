// What the programs share with the daemon.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#pragma once

#include "kernel_types.h"

#include <bpf/bpf_helpers.h>

// The inode of the daemon's /proc/self/ns/pid: pids are told as that namespace has them.
const volatile __u32 daemon_pid_namespace = 0;
// The daemon's own pid there: what it does itself to see whether this works counts for no other.
const volatile __u32 daemon_pid = 0;

// The system calls by number, as this architecture has them; -1 for one that is left out.
const volatile long number_mmap = -1;
const volatile long number_listen = -1;

// Sizes are the daemon's: it sets both before it loads.
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} records SEC(".maps");

// Processes that the daemon was told of: pid in its namespace, and the exec count told. Where the
// daemon found one by itself, in /proc, no count is known: any execve counts.
#define EXEC_COUNT_UNKNOWN (~(__u64)0)
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} followed SEC(".maps");

// Records for which the ring buffer had no room.
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} lost SEC(".maps");

static __always_inline void count_lost(void) {
    __u32 zero = 0;
    __u64 *count = bpf_map_lookup_elem(&lost, &zero);
    if (count)
        ++*count;
}
