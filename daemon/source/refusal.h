// Why the kernel refuses, as far as that can be told, and what to do about it. Private to this
// layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>

// The name of an error, "EPERM"; static. Takes what system calls and libraries return, negative.
const char *refusal_name(int error);
// A sentence without its full stop; static.
const char *refusal_remedy(int error);
// The same of perf_event_open(2), by which kprobes and tracepoints are attached too.
const char *refusal_remedy_of_perf(int error);
// Whether perf_event_open(2) wants more than CAP_PERFMON, which the daemon has not.
bool refusal_is_perf_restricted(void);
// Whether the kernel's lockdown keeps its memory from everybody.
bool refusal_is_locked_down(void);
