// Processes that a caller asked for and may see, a part at a time.
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
    size_t lives;    // to be looked at, at most; fewer where globs take time
} Page;

typedef enum PageResult { PAGE_END, PAGE_FULL } PageResult;

// 0: taken. PAGE_FULL: it did not fit and is the first of the next page.
typedef int (*PageTake)(void *userdata, const Process *process);

// Gives each to `take` and moves the cursor. PAGE_FULL: a limit came first. A negative errno of
// `take` ends it and is the result.
int page_walk(Page *page, PageTake take, void *userdata);

// Appends to `array`, `bytes` at most, except that one process always fits. -ENOMEM.
int page_collect(Page *page, size_t bytes, json_t *array);
