// A child that maps the name, pauses, and executes its own program, which maps and pauses again.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>

// For child_start(): maps; or maps, pauses, and becomes this program anew.
void mapper_map(int control, const void *argument);
void mapper_map_and_execute(int control, const void *argument);
// Becomes this program anew; does not return.
void mapper_execute(int control);
// First in main(): true where this is the program anew, and all is done.
bool mapper_main(int argc, char *argv[]);
