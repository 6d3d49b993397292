// What the linker's --wrap makes of these functions: callers get the first of each, and the second
// is the real one.
// SPDX-License-Identifier: MIT
#pragma once

#include "look.h"
#include "socket_path.h"

// The linker's names. NOLINTBEGIN(readability-identifier-naming)
void __wrap_look_run(Look *look);
void __real_look_run(Look *look);
int __wrap_socket_path_open(const Target *target, const char *path, int *ret, Failure *failure);
int __real_socket_path_open(const Target *target, const char *path, int *ret, Failure *failure);
// NOLINTEND(readability-identifier-naming)
