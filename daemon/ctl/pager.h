// A pager between standard output and the terminal.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

typedef struct Pager {
    pid_t pid; // 0: none runs
} Pager;

// Starts the pager and puts standard output into it. Where the user wants none, or none can be
// started, output simply goes to the terminal.
void pager_open(Pager *pager);

// Ends the output and waits until the user has left the pager.
void pager_close(Pager *pager);
