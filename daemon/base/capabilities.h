// What the kernel lets this process do.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

// The effective ones, a bit for each CAP_*. -errno.
int capabilities_effective(uint64_t *ret);
