// The scan through /proc, where there is no iterator. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>

#include "context.h"
#include "listeners.h"
#include "procfs.h"

typedef enum ScanProcPhase {
    SCAN_PROC_TABLES,  // each network namespace's sockets, read through the first process in it
    SCAN_PROC_KNOWN,   // those are told whose holder the scan before found and that still lives
    SCAN_PROC_NAMED,   // whether others are held by the process that their name has
    SCAN_PROC_FOUND,   // those that are, are told
    SCAN_PROC_HOLDERS, // who holds what is left
    SCAN_PROC_LEFT,    // that is told
} ScanProcPhase;

typedef struct ScanProc {
    Context *context;
    ScanProcPhase phase;
    DIR *processes;       // owned; NULL while no scan runs
    uint64_t *namespaces; // owned: inodes of those whose table was read
    size_t namespace_count;
    size_t namespace_capacity;
    ProcfsLines *table; // owned; NULL unless it is being read
    DIR *descriptors;   // owned; NULL unless they are being looked at: those of ...
    int process;        // owned; the /proc/PID of ...
    pid_t pid;
    Signal facts;     // of it, read when it is seen to hold a listener; pid 0: not yet
    size_t looked_at; // of these descriptors
    Listeners listeners;
    size_t next;      // listener to look at, in their order
    pid_t named;      // whom the last one names that was looked at
    bool incomplete;  // the holder of one is not known
    bool overlooked;  // a process that lives could not be looked at
    Listeners before; // as the last scan left them
} ScanProc;

void scan_proc_init(ScanProc *scan, Context *context);
void scan_proc_done(ScanProc *scan);

int scan_proc_start(ScanProc *scan);
// One process, some of its descriptors or of a table, or some signals of one: a ScanStep. SCAN_END
// and SCAN_FAILED close it.
int scan_proc_step(ScanProc *scan);
