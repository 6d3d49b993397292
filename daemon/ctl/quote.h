// Command lines as a shell would read them.
// SPDX-License-Identifier: MIT
#pragma once

// One argument, as the daemon shows it (a backslash doubled, a byte that is not text as \xNN), so
// quoted that bash reads the very argument the process has: bare, 'in quotes' or $'with \xNN'. The
// caller owns the result; NULL when out of memory.
char *quote_argument(const char *argument);
