// Parts of a Process object as the tables and lines show them.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "style.h"

#define PROCESS_TEXT_SIZE 64

// "-" where a text is absent; borrowed from the process.
const char *process_text(json_t *process, const char *name);
// The entry assembly, else the command.
const char *process_text_entry(json_t *process);

Style process_text_style(json_t *process);
// "unreachable (timeout)", "ready".
void process_text_state(json_t *process, char ret[static PROCESS_TEXT_SIZE]);
// The user's name, else its number.
void process_text_user(json_t *process, char ret[static PROCESS_TEXT_SIZE]);
