// /proc/PID/net/unix, proc(5): the Unix sockets of one network namespace.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct UnixListener {
    uint64_t inode;
    const char *path; // into the line; as bound, may be relative or hold blanks, never abstract
} UnixListener;

// True where the line is a listening stream socket bound to a path. A relative path that begins
// with
// '@' looks like an abstract name and counts as one.
bool unix_table_listener(const char *line, UnixListener *ret);

// True where the last component of a bound path is one that the runtime gives its default socket,
// dotnet-diagnostic-{pid}-{key}-socket, whole or cut down to "dotnet-diagno", and not a dsrouter's.
bool unix_table_is_diagnostic(const char *path);
