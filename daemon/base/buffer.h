// Bytes that grow up to a limit: what a connection reads into and writes from.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>

typedef struct Buffer {
    char *data; // owned; bytes [start, end) are in use
    size_t start;
    size_t end;
    size_t capacity;
    size_t limit; // the bytes in use never exceed it
} Buffer;

void buffer_init(Buffer *buffer, size_t limit);
void buffer_done(Buffer *buffer);

static inline const char *buffer_bytes(const Buffer *buffer) {
    return buffer->data ? buffer->data + buffer->start : NULL;
}
static inline size_t buffer_size(const Buffer *buffer) {
    return buffer->end - buffer->start;
}

// Copies `size` bytes to the end. -ENOBUFS beyond the limit, -ENOMEM; nothing is added then.
int buffer_append(Buffer *buffer, const void *bytes, size_t size);

// Room for up to `size` bytes behind the end, less where the limit is near (0: full). The caller
// writes there and says how much with buffer_commit. -ENOMEM.
int buffer_reserve(Buffer *buffer, size_t size, char **ret, size_t *ret_size);
void buffer_commit(Buffer *buffer, size_t size);

// Drops `size` bytes from the front. An emptied buffer gives back what a large message needed.
void buffer_consume(Buffer *buffer, size_t size);
