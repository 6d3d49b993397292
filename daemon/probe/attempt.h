// One attempt to reach one process, from finding its socket to its answer or the deadline.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-event.h>

#include "input.h"
#include "probe.h"
#include "workers.h"

typedef struct Attempt Attempt;

// Called once, from the event loop, as the last thing the attempt does; may free it.
typedef void (*AttemptEnded)(void *userdata, Attempt *attempt);

// Neither opens nor asks anything yet. -ENOMEM. The caller owns *ret.
int attempt_new(uint64_t serial, const ProbeTarget *target, Attempt **ret);
// Closes what is open, at any time; what a thread has of it is freed when that returns.
void attempt_free(Attempt *attempt);

// To be called from the loop: an attempt that fails at once has ended before this returns.
// `workers` is borrowed.
void attempt_start(Attempt *attempt, sd_event *event, Workers *workers, AttemptEnded ended,
                   void *userdata);
bool attempt_is_started(const Attempt *attempt);

// Of an ended attempt: hands over its result.
Input attempt_take_input(Attempt *attempt);
