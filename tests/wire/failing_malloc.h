// malloc() and realloc() that fail when told to. Linked with --wrap for both; included by one file
// of a test program.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>

// The names are the linker's.
// NOLINTBEGIN(readability-identifier-naming)
void *__real_malloc(size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *block, size_t size);
// NOLINTEND(readability-identifier-naming)

static struct {
    bool armed;
    int succeed; // so many, then all fail
} failing_malloc;

static bool failing_malloc_fails(void) {
    return failing_malloc.armed && failing_malloc.succeed-- <= 0;
}

void *__wrap_malloc(size_t size) {
    return failing_malloc_fails() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *block, size_t size) {
    return failing_malloc_fails() ? NULL : __real_realloc(block, size);
}

static void failing_malloc_after(int succeed) {
    failing_malloc.succeed = succeed;
    failing_malloc.armed = true;
}

static void failing_malloc_stop(void) {
    failing_malloc.armed = false;
}
