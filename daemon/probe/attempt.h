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

// `workers` is borrowed. An attempt that fails at once ends in the next turn of the loop, never
// before this returns. -ENOMEM: nothing is under way, and the caller is to end it.
int attempt_start(Attempt *attempt, sd_event *event, Workers *workers, AttemptEnded ended,
                  void *userdata);
bool attempt_is_started(const Attempt *attempt);
// Ends one that could not be started, before it returns.
void attempt_fail(Attempt *attempt, int error);

// Of an ended attempt: hands over its result.
Input attempt_take_input(Attempt *attempt);
