// What the parts of the source share. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel.h"
#include "source.h"
#include "translate.h"

// In the loop records go first, for they are what is waited for; an exit comes next. A scan takes
// its turns among everybody else, and so does what is left of a storm of records.
enum {
    PRIORITY_RECORDS = SD_EVENT_PRIORITY_NORMAL - 20,
    PRIORITY_EXITS = SD_EVENT_PRIORITY_NORMAL - 10,
    PRIORITY_TURNS = SD_EVENT_PRIORITY_NORMAL,
};

typedef struct Context {
    sd_event *event; // owned reference
    SourceInput input;
    void *userdata;
    Clocks clocks;
    Kernel kernel;
    SourceCounters counters;
} Context;

static inline void context_yield(Context *context, Input *input) {
    context->input(context->userdata, input);
}

// How one step of a scan went.
typedef enum ScanStep {
    SCAN_END,
    SCAN_MORE,
    SCAN_FAILED, // this way of scanning does not work now, for want of memory say
} ScanStep;
