// Bounded reads below /proc/PID.
// SPDX-License-Identifier: MIT
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

int procfs_open(pid_t pid, int *ret) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", pid);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret = fd;
    return 0;
}

static int open_file(int directory, const char *name) {
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

// Reads until `size` bytes or the end of the file; a negative errno or the number of bytes.
static ssize_t read_up_to(int fd, char *buffer, size_t size) {
    size_t used = 0;
    while (used < size) {
        ssize_t n = read(fd, buffer + used, size - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        used += (size_t)n;
    }
    return (ssize_t)used;
}

int procfs_read(int directory, const char *name, char *buffer, size_t size, size_t *ret_size) {
    _cleanup_close_ int fd = open_file(directory, name);
    if (fd < 0)
        return fd;

    // The byte kept for the NUL doubles as the one that tells a cut file from one that just fits.
    ssize_t n = read_up_to(fd, buffer, size);
    if (n < 0)
        return (int)n;
    int cut = (size_t)n == size;
    size_t used = cut ? size - 1 : (size_t)n;
    buffer[used] = '\0';
    *ret_size = used;
    return cut;
}

int procfs_read_link(int directory, const char *name, char *buffer, size_t size) {
    ssize_t n = readlinkat(directory, name, buffer, size);
    if (n < 0)
        return -errno;
    if ((size_t)n >= size)
        return -ENAMETOOLONG;
    buffer[n] = '\0';
    return 0;
}

int procfs_lines_open(ProcfsLines *lines, int directory, const char *name) {
    int fd = open_file(directory, name);
    if (fd < 0)
        return fd;
    lines->fd = fd;
    lines->used = lines->total = 0;
    lines->at_end = false;
    return 0;
}

void procfs_lines_close(ProcfsLines *lines) {
    lines->fd = safe_close(lines->fd);
}

int procfs_lines_step(ProcfsLines *lines, size_t limit, ProcfsLine line, void *userdata) {
    char *buffer = lines->buffer;
    const size_t room = sizeof lines->buffer - 1 - lines->used;
    ssize_t n = read_up_to(lines->fd, buffer + lines->used, room);
    if (n < 0)
        return (int)n;
    lines->at_end = (size_t)n < room;
    lines->used += (size_t)n;
    lines->total += (size_t)n;

    size_t start = 0;
    while (start < lines->used) {
        char *newline = memchr(buffer + start, '\n', lines->used - start);
        // Without a newline the rest waits for more, unless it fills the buffer or the file ends.
        if (!newline && !lines->at_end && start > 0)
            break;
        size_t end = newline ? (size_t)(newline - buffer) : lines->used;
        buffer[end] = '\0';
        int r = line(userdata, buffer + start, end - start);
        if (r != 0)
            return r;
        start = newline ? end + 1 : lines->used;
    }
    if (!lines->at_end && lines->total >= limit)
        return -EFBIG;
    memmove(buffer, buffer + start, lines->used - start);
    lines->used -= start;
    return 0;
}

static void lines_closep(ProcfsLines *lines) {
    procfs_lines_close(lines);
}

int procfs_each_line(int directory, const char *name, size_t limit, ProcfsLine line,
                     void *userdata) {
    _cleanup_(lines_closep) ProcfsLines lines;
    lines.fd = -1;
    int r = procfs_lines_open(&lines, directory, name);
    if (r < 0)
        return r;
    do
        r = procfs_lines_step(&lines, limit, line, userdata);
    while (r == 0 && !lines.at_end);
    return r;
}
