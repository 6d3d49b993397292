// What is told of the kernel side's features, whoever has them. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "source.h"

// -ENOMEM.
int programs_init(Program programs[static PROGRAM_COUNT_], const bool without[PROGRAM_COUNT_]);
// Also of those that are all zero.
void programs_done(Program programs[static PROGRAM_COUNT_]);

// Says that it is had by this `kind`, which outlives it; NULL: by that of the kernel program.
void programs_have(Program programs[static PROGRAM_COUNT_], ProgramId id, const char *kind);
// Says that it is missing, why and what that costs. -ENOMEM.
__attribute__((format(printf, 3, 4))) int programs_miss(Program programs[static PROGRAM_COUNT_],
                                                        ProgramId id, const char *format, ...);
