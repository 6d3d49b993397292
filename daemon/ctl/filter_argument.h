// NAME=VALUE on the command line becomes a member of the interface's Filter.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

// The names that a filter may have, for messages.
#define FILTER_ARGUMENT_NAMES \
    "pid, uid, state, unit, command, entryAssembly, runtimeVersion, containerId"

// Adds `argument` to the object `filter`. uid takes a user's name, too. -EINVAL with *ret_fault (a
// static part of a sentence that begins with the argument), -ENOMEM.
int filter_argument_add(json_t *filter, const char *argument, const char **ret_fault);

// A process id in decimal, 1 or more. False where the text is none.
bool filter_argument_pid(const char *text, uint64_t *ret);
