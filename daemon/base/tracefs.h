// The kernel's tracing files, wherever they are mounted.
// SPDX-License-Identifier: MIT
#pragma once

// As access(2) of a file in tracefs, "events/..."; -errno.
int tracefs_access(const char *name, int mode);
