// The two macros that C lacks.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>

#define ELEMENTS_OF(array) (sizeof(array) / sizeof((array)[0]))

// The struct of this type whose `member` the pointer points to.
#define CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))
