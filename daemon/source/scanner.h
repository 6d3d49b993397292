// When to scan and by what. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "context.h"
#include "scan_iterator.h"
#include "scan_proc.h"

typedef enum ScannerPhase {
    SCANNER_IDLE,
    SCANNER_WAITING, // for a second to pass since the last one began
    SCANNER_RUNNING,
} ScannerPhase;

typedef struct Scanner {
    Context *context;
    ScannerPhase phase;
    bool again;          // asked for while it runs
    uint64_t started_us; // CLOCK_BOOTTIME of the last one's beginning, 0: none yet
    ScanIterator iterator;
    ScanProc proc;
    sd_event_source *turn;  // owned: the next step
    sd_event_source *timer; // owned: the next scan; made at the start, since it takes a descriptor
} Scanner;

// -errno of the event loop; scanner_done() is due all the same.
int scanner_init(Scanner *scanner, Context *context);
void scanner_done(Scanner *scanner);

// Scans now and to the end. -errno where another was to follow and could not be arranged.
int scanner_run(Scanner *scanner);
// As source_rescan() says.
int scanner_request(Scanner *scanner);
