// Counts what our own code allocates; what libraries allocate for themselves is theirs. Linked with
// --wrap for each of these; included by one file of a program.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

// The names are the linker's.
// NOLINTBEGIN(readability-identifier-naming)
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_reallocarray(void *block, size_t count, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
// NOLINTEND(readability-identifier-naming)

static uint64_t counted_allocations;

void *__wrap_malloc(size_t size) {
    counted_allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    counted_allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size) {
    counted_allocations++;
    return __real_realloc(block, size);
}

void *__wrap_reallocarray(void *block, size_t count, size_t size) {
    counted_allocations++;
    return __real_reallocarray(block, count, size);
}

char *__wrap_strdup(const char *text) {
    counted_allocations++;
    return __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size) {
    counted_allocations++;
    return __real_strndup(text, size);
}
