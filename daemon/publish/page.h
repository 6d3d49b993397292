// Processes that a caller asked for and may see, collected into a JSON array.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>

#include "filter.h"
#include "status.h"

// What is collected, and how far it is.
typedef struct Page {
    const Context *context;
    const Viewer *viewer;
    const Filter *filter;
    uint64_t cursor; // serial of the last life looked at
    uint64_t end;    // serial of the last life to look at
    size_t bytes;    // at most, except that one process always fits
    size_t lives;    // to be looked at, at most; fewer where globs take time
} Page;

typedef enum PageResult { PAGE_FULL, PAGE_END } PageResult;

// Appends to `array` and moves the cursor. PAGE_FULL: a limit came first. -ENOMEM.
int page_collect(Page *page, json_t *array);
