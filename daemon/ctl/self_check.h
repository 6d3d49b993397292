// The daemon's own check, for where no daemon runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stdint.h>

typedef enum SelfCheckResult {
    SELF_CHECK_DONE = 0,
    SELF_CHECK_MISSING,    // there is no dotnet-discoveryd to be run
    SELF_CHECK_NO_PROCESS, // it has said so on standard error
    SELF_CHECK_FAILED,     // likewise the reason
    SELF_CHECK_BAD,        // what it printed is not a check
} SelfCheckResult;

// Runs `dotnet-discoveryd --check[=PID]` (pid 0: of the machine) with this program's rights: the
// one beside this program, else of $PATH, else where it is installed. *ret is owned by the caller
// and is what the method Check would answer. A SelfCheckResult or a negative errno.
int self_check(uint64_t pid, json_t **ret);
