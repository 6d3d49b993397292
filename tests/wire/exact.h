// A copy of bytes in a heap block of exactly their size, so that AddressSanitizer sees a reader
// that goes one byte too far. For the tests that tear their input at every byte.
// SPDX-License-Identifier: MIT
#pragma once

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static inline void *exact_bytes(const void *bytes, size_t size) {
    // malloc(0) may be NULL, which says nothing about reading too far either.
    char *copy = malloc(size > 0 ? size : 1);
    assert(copy);
    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

// The first `size` bytes of a text as a string of their own.
static inline char *exact_text(const char *text, size_t size) {
    char *copy = strndup(text, size);
    assert(copy);
    return copy;
}
