// What introspection tells.
// SPDX-License-Identifier: MIT
#pragma once

// Of the one object and those above it; the caller owns *ret. -ENOENT: any other path. -ENOMEM.
int bus_introspect(const char *path, char **ret);
