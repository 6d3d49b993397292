// What the terminal behind standard output can do, and what the user wants of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Standard output and standard error are a terminal that can do more than print lines one after
// another.
bool terminal_is_able(void);

// $SYSTEMD_COLORS decides, then $NO_COLOR, then what the terminal is.
bool terminal_shows_colours(void);

// Columns, of $COLUMNS where that says it; 0 where standard output is no terminal.
size_t terminal_width(void);
