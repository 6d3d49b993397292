// From a path that a process bound to a descriptor of its socket file.
// SPDX-License-Identifier: MIT
#pragma once

#include "target.h"

// Opens `path` (as bound, in the target's own root) as O_PATH and makes sure that it is a socket of
// one of the target's own uids. Follows no symbolic link, leaves the target's root by no way,
// touches nothing. What the process mounted there may block it all the same. The caller owns *ret.
int socket_path_open(const Target *target, const char *path, int *ret, Failure *failure);

// Whether something is there, as far as the kernel has it in its memory. May block as well.
bool socket_path_is_taken(const Target *target, const char *path);
