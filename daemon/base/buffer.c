// A bounded byte buffer.
// SPDX-License-Identifier: MIT
#include "buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// An empty buffer keeps this much, so that small messages do not allocate each time.
enum { BUFFER_KEPT = 4096 };

void buffer_init(Buffer *buffer, size_t limit) {
    *buffer = (Buffer){.limit = limit};
}

void buffer_done(Buffer *buffer) {
    if (!buffer)
        return;
    free(buffer->data);
    *buffer = (Buffer){.limit = buffer->limit};
}

static int make_room(Buffer *buffer, size_t size) {
    if (buffer->capacity - buffer->end >= size)
        return 0;
    if (buffer->start > 0) {
        memmove(buffer->data, buffer->data + buffer->start, buffer_size(buffer));
        buffer->end -= buffer->start;
        buffer->start = 0;
        if (buffer->capacity - buffer->end >= size)
            return 0;
    }

    size_t wanted = buffer->end + size;
    if (wanted < 2 * buffer->capacity)
        wanted = 2 * buffer->capacity;
    char *data = realloc(buffer->data, wanted);
    if (!data)
        return -ENOMEM;
    buffer->data = data;
    buffer->capacity = wanted;
    return 0;
}

int buffer_append(Buffer *buffer, const void *bytes, size_t size) {
    if (size > buffer->limit - buffer_size(buffer))
        return -ENOBUFS;
    if (size == 0)
        return 0;
    int r = make_room(buffer, size);
    if (r < 0)
        return r;
    memcpy(buffer->data + buffer->end, bytes, size);
    buffer->end += size;
    return 0;
}

int buffer_reserve(Buffer *buffer, size_t size, char **ret, size_t *ret_size) {
    size_t room = buffer->limit - buffer_size(buffer);
    if (size > room)
        size = room;
    int r = size > 0 ? make_room(buffer, size) : 0;
    if (r < 0)
        return r;
    *ret = buffer->data ? buffer->data + buffer->end : NULL;
    *ret_size = size;
    return 0;
}

void buffer_commit(Buffer *buffer, size_t size) {
    assert(size <= buffer->capacity - buffer->end);
    buffer->end += size;
}

void buffer_consume(Buffer *buffer, size_t size) {
    assert(size <= buffer_size(buffer));
    buffer->start += size;
    if (buffer->start < buffer->end)
        return;
    buffer->start = buffer->end = 0;
    if (buffer->capacity > BUFFER_KEPT) {
        free(buffer->data);
        buffer->data = NULL;
        buffer->capacity = 0;
    }
}
