// The rules of a process's life as data: what an attempt's outcome makes of a state, and when the
// next attempt is due.
// SPDX-License-Identifier: MIT
#pragma once

#include "input.h"

// A port that is about to open may look absent or closed for this long without being called
// unreachable.
#define RULES_FIRST_SECOND_US USEC_PER_SEC

// A signal that adds nothing leads to another attempt this long after the last one, not earlier.
#define RULES_SIGNAL_PAUSE_US USEC_PER_SEC

// What the outcome of an attempt makes of a process in `state` that is in its first second or not.
// Only who is detected or unreachable is attempted, and OUTCOME_VANISHED is the end of the life,
// not a state. STATE_UNREACHABLE has *ret_reason, the others REASON_NONE.
State rules_next_state(State state, Outcome outcome, bool first_second, Reason *ret_reason);

// Whether an attempt with this outcome reached the process, or another one could only after
// somebody changed something. Then no signal is a reason to hurry.
bool rules_is_patient(Outcome outcome);

// When the attempt after one that failed at `now_us` with `outcome` is due. Attempts are counted
// from `window_us`, when the process was first or again signalled. USEC_NEVER: none.
uint64_t rules_next_attempt(Outcome outcome, uint64_t window_us, uint64_t now_us);
