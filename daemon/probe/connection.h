// One connection to the diagnostic port of a process, with the question on its way.
// SPDX-License-Identifier: MIT
#pragma once

#include "target.h"

// Connects to the socket the target bound at `path`, makes sure that it is the target who listens
// there, and only then sends ProcessInfo of this version, whole. Does not
// wait for the process, but opening its path may block. The caller owns *ret,
// a non-blocking socket on which nothing else may be sent.
int connection_ask(const Target *target, const char *path, int version, int *ret, Failure *failure);
