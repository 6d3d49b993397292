// The records that perf has of every mapping of the machine: the mechanism without BPF. Two
// descriptors and a ring for each CPU that is online, drained in the loop. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "context.h"

struct perf_event_mmap_page;

typedef int (*PerfLoss)(void *userdata);

typedef enum PerfPace {
    PERF_WOKEN,   // by the next record
    PERF_PAUSED,  // read when the pause ends, and not woken before
    PERF_RESUMED, // both
} PerfPace;

enum { PERF_DESCRIPTORS_PER_CPU = 2 };

typedef struct PerfCpu {
    struct Perf *perf;
    int fd;                             // owned; -1: not online, as far as is known
    struct perf_event_mmap_page *ring;  // owned: a page, and perf->bytes behind it
    int waker;                          // owned: an event that has no use but to wake us
    struct perf_event_mmap_page *woken; // owned: its ring of one page, which nobody reads
    uint64_t enabled_ns;                // that it had been at work when last asked
    sd_event_source *readable;          // owned: the waker
    sd_event_source *filling;           // owned: the ring is half full
    sd_event_source *turn;              // owned: what is left of a storm
    PerfPace pace;
} PerfCpu;

typedef struct Perf {
    Context *context;
    size_t bytes; // of each ring
    bool exec;
    PerfLoss loss;
    void *userdata;
    PerfCpu *cpus; // owned: one for each possible CPU
    size_t cpu_count;
    sd_event_source *pause; // owned: its end, the same for all CPUs
    void *followed;         // of PerfFollowed by pid, tsearch(3); with `exec` only
    uint64_t told_us;       // when that happened which is being told now, 0: nothing is
    bool missed;            // something that a scan has to make up for
} Perf;

// Opens and enables on every CPU, and reads in the loop from then on; signals become Inputs by
// context_signal(), which keeps the self-test's back. Each ring holds `bytes`, a power of two, or
// what bounds.h leaves each CPU where that is less. Execs are told of too where `exec` says so,
// since no kernel program does. `loss` is called when records were lost. -errno where perf cannot
// be had, the ladder then says why; perf_done() is due all the same.
int perf_init(Perf *perf, Context *context, size_t bytes, bool exec, PerfLoss loss, void *userdata);
// Also of one that is all zero.
void perf_done(Perf *perf);

// Waits for records, as long as poll(2) does with this timeout: for the self-test, which the loop
// does not run for. (An epoll descriptor would not do: to ask a descriptor of perf whether it is
// readable takes that back.)
int perf_wait(Perf *perf, int timeout_ms);
// Reads what is there, at most as much as the rings hold: their writers do not wait for us.
void perf_drain(Perf *perf);
// Takes up CPUs that came online and drops those that went: before each scan at an interval. One
// that cannot be taken up now is tried again the next time.
void perf_refresh(Perf *perf);

// An execve of this process is told of from now on, or no more; only where perf_init() was told so.
void perf_follow(Perf *perf, const ProcessKey *key);
void perf_unfollow(Perf *perf, pid_t pid);
