// What the program's exit status says; part of the public interface.
// SPDX-License-Identifier: MIT
#pragma once

typedef enum ExitStatus {
    EXIT_STATUS_DONE = 0, // a list without a match, too
    EXIT_STATUS_FAILED = 1,
    EXIT_STATUS_USAGE = 2,
    EXIT_STATUS_NOT_FOUND = 3,    // show: a process is not known
    EXIT_STATUS_TIMED_OUT = 4,    // wait: nothing matched in time
    EXIT_STATUS_NOT_RUNNING = 69, // EX_UNAVAILABLE of sysexits.h: no daemon to ask
} ExitStatus;
