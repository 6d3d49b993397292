// The scan through /proc, where there is no iterator. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>

#include "context.h"
#include "listeners.h"

typedef enum ScanProcPhase {
    SCAN_PROC_TABLES,  // each network namespace's sockets, read through the first process in it
    SCAN_PROC_HOLDERS, // who holds the diagnostic ones
    SCAN_PROC_SIGNALS, // one for each socket that somebody holds
} ScanProcPhase;

typedef struct ScanProc {
    Context *context;
    ScanProcPhase phase;
    DIR *processes;       // owned; NULL while no scan runs
    uint64_t *namespaces; // owned: inodes of those whose table was read
    size_t namespace_count;
    size_t namespace_capacity;
    Listeners listeners;
    size_t next; // listener to signal
} ScanProc;

void scan_proc_init(ScanProc *scan, Context *context);
void scan_proc_done(ScanProc *scan);

int scan_proc_start(ScanProc *scan);
// One process, or one signal: a ScanStep. SCAN_END and SCAN_FAILED close it.
int scan_proc_step(ScanProc *scan);
