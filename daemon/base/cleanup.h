// Ownership written down where it is held: every owning local carries a cleanup attribute, and a
// transfer says so with TAKE_PTR or TAKE_FD. A function can then be checked for leaks on its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))
#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)

// Hands the value on and leaves NULL or -1 behind, so that the cleanup finds nothing to do.
#define TAKE_PTR(pointer)                              \
    ({                                                 \
        __typeof__(pointer) *taken_from_ = &(pointer); \
        __typeof__(pointer) taken_ = *taken_from_;     \
        *taken_from_ = NULL;                           \
        taken_;                                        \
    })
#define TAKE_FD(fd)                \
    ({                             \
        int *taken_from_ = &(fd);  \
        int taken_ = *taken_from_; \
        *taken_from_ = -1;         \
        taken_;                    \
    })

// For x_free(X *): defines x_freep(X **), what the cleanup attribute calls.
#define DEFINE_CLEANUP(type, function)                          \
    static inline void function##p(__typeof__(type) *pointer) { \
        if (*pointer)                                           \
            function(*pointer);                                 \
    }                                                           \
    struct function##_cleanup_needs_a_semicolon

static inline void freep(void *pointer) {
    free(*(void **)pointer);
}

// Closes and returns -1: `fd = safe_close(fd)`. Keeps errno.
static inline int safe_close(int fd) {
    if (fd >= 0) {
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return -1;
}

static inline void closep(int *fd) {
    *fd = safe_close(*fd);
}

static inline void fclosep(FILE **file) {
    if (*file)
        fclose(*file);
}
