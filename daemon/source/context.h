// What the parts of the source share. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel.h"
#include "priorities.h"
#include "self_test.h"
#include "source.h"
#include "translate.h"

typedef struct Context {
    sd_event *event; // owned reference
    SourceInput input;
    void *userdata;
    Clocks clocks;
    SourceOptions options;
    Program programs[PROGRAM_COUNT_];
    Kernel kernel;
    SourceCounters counters;
    SelfTest self_test;
} Context;

static inline void context_yield(Context *context, Input *input) {
    context->input(context->userdata, input);
}

// The same, for what the mechanism tells of.
static inline void context_signal(Context *context, Input *input) {
    if (!self_test_take(&context->self_test, input))
        context_yield(context, input);
}

// How one step of a scan went.
typedef enum ScanStep {
    SCAN_END,
    SCAN_MORE,
    SCAN_FAILED, // this way of scanning does not work now, for want of memory say
} ScanStep;
