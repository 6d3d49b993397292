// By what processes are noticed, in words: the journal and the check say the same.
// SPDX-License-Identifier: MIT
#pragma once

#include "source.h"

// The mechanism in use, what it costs, and why each better one is not used. The caller owns the
// result; NULL when out of memory.
char *watching_text(const Source *source);

// Logs that, with a priority that goes by the cost.
void watching_announce(const Source *source);
