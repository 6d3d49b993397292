// When to scan and by what. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "context.h"
#include "scan_iterator.h"
#include "scan_proc.h"

typedef enum ScannerPhase {
    SCANNER_IDLE,
    SCANNER_WAITING, // for the timer
    SCANNER_DUE,     // begins with the next turn
    SCANNER_RUNNING,
} ScannerPhase;

typedef void (*ScannerPrepare)(void *userdata);

typedef struct Scanner {
    Context *context;
    ScannerPhase phase;
    bool again;          // asked for while it runs
    uint64_t started_us; // CLOCK_BOOTTIME of the last one's beginning, 0: none yet
    uint64_t cost_us;    // CPU time of the last one, so far
    bool at_interval;
    uint64_t interval_us;   // between the last one's beginning and the next that nobody asks for
    ScannerPrepare prepare; // called when one begins; may be NULL
    void *userdata;
    ScanIterator iterator;
    ScanProc proc;
    sd_event_source *turn;  // owned: the next step
    sd_event_source *timer; // owned: the next scan; made at the start, since it takes a descriptor
} Scanner;

// -errno of the event loop; scanner_done() is due all the same.
int scanner_init(Scanner *scanner, Context *context);
void scanner_done(Scanner *scanner);

// Before the first one: from then on scans begin by themselves, each so long after the one before
// that all of them together cost little. One that is asked for in between counts as one of these.
void scanner_repeat(Scanner *scanner, ScannerPrepare prepare, void *userdata);
// As source_scan_interval_us() says.
uint64_t scanner_interval_us(const Scanner *scanner);

// Scans now and to the end, while none is under way in the loop; one that was asked for before is
// this one. -errno where another was to follow and could not be arranged.
int scanner_run(Scanner *scanner);
// As source_rescan() says.
int scanner_request(Scanner *scanner);
