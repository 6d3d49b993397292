// What the linker's --wrap=look_run makes of that function: callers get the first, and the second
// is the real one.
// SPDX-License-Identifier: MIT
#pragma once

#include "look.h"

void __wrap_look_run(Look *look);
void __real_look_run(Look *look);
