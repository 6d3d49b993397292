// The ring buffer of the kernel side, drained in the loop. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "context.h"

struct ring_buffer;

typedef int (*RingLoss)(void *userdata);

typedef struct Ring {
    Context *context;
    struct ring_buffer *buffer; // owned; NULL where nothing is loaded
    sd_event_source *readable;  // owned
    size_t bytes;               // it holds
    RingLoss loss;              // called when records were lost
    void *userdata;
    uint64_t lost;    // of the kernel's count, as far as that was told
    unsigned records; // read in this turn
} Ring;

int ring_init(Ring *ring, Context *context, size_t bytes, RingLoss loss, void *userdata);
void ring_done(Ring *ring);

// Waits for records, as long as poll(2) does with this timeout: for the self-test, which the loop
// does not run for. There must be a buffer.
int ring_wait(const Ring *ring, int timeout_ms);
// Reads what is there, at most as much as the buffer holds: its writers do not wait for us.
void ring_drain(Ring *ring);
