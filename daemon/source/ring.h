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
    unsigned records; // read in this turn
} Ring;

int ring_init(Ring *ring, Context *context, size_t bytes, RingLoss loss, void *userdata);
void ring_done(Ring *ring);

// Reads what is there, at most as much as the buffer holds: its writers do not wait for us.
int ring_drain(Ring *ring);
