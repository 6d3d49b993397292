// One connection to the diagnostic port of a process, with the question on its way.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdatomic.h>

#include "target.h"

// Connects to the socket the target bound at `path`, makes sure that it is the target who listens
// there, and only then sends ProcessInfo of this version, whole. Does not wait for the process, but
// opening its path may block. -ECANCELED once `let_go` is true: then nothing new reaches the
// process. The caller owns *ret, a non-blocking socket on which nothing else may be sent.
int connection_ask(const Target *target, const char *path, int version, const atomic_bool *let_go,
                   int *ret, Failure *failure);
