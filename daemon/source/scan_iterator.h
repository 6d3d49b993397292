// The scan through the kernel's iterator. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "bounds.h"
#include "context.h"

typedef struct ScanIterator {
    Context *context;
    int fd; // owned; -1 while no scan runs
    size_t used;
    char bytes[BOUND_SCAN_READ + sizeof(struct discovery_record)]; // not yet decoded
} ScanIterator;

void scan_iterator_init(ScanIterator *scan, Context *context);
void scan_iterator_done(ScanIterator *scan);

// -EOPNOTSUPP where there is no iterator, or why it cannot be opened now.
int scan_iterator_start(ScanIterator *scan);
// One bounded read and what it brought: a ScanStep. SCAN_END and SCAN_FAILED close it.
int scan_iterator_step(ScanIterator *scan);
