// Files below /proc/PID, opened relative to a descriptor of that directory and read within bounds.
// The descriptor pins the process: once it is gone every read fails with ESRCH, whoever has its pid
// by then. Nothing here interprets what it reads.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Opens /proc/PID as O_PATH. The caller owns *ret. -ENOENT where there is no such process.
int procfs_open(pid_t pid, int *ret);

// Reads a whole file into `buffer`, at most `size` - 1 bytes, and ends it with a NUL. *ret_size is
// the number of bytes before that NUL (the content may hold NULs of its own). Returns 1 where the
// file is longer than that and was cut, 0 where it was read to its end. -errno: -ESRCH or -ENOENT
// where the process is gone, -EACCES or -EPERM where it may not be read.
int procfs_read(int directory, const char *name, char *buffer, size_t size, size_t *ret_size);

// The target of a symbolic link, ended with a NUL; -ENAMETOOLONG where `size` is too small.
int procfs_read_link(int directory, const char *name, char *buffer, size_t size);

// Calls `line` for each line of a file, without its newline and ended with a NUL, until it returns
// other than 0 (which is then the result) or `limit` bytes were read (then -EFBIG). A line longer
// than 8 KiB is passed in part. 0: every line was passed.
typedef int (*ProcfsLine)(void *userdata, const char *line, size_t size);
int procfs_each_line(int directory, const char *name, size_t limit, ProcfsLine line,
                     void *userdata);

// The same in steps, each of one buffer, for who must not stay away for long.
typedef struct ProcfsLines {
    int fd;      // owned
    bool at_end; // every line was passed
    size_t used, total;
    char buffer[8192 + 1];
} ProcfsLines;

// The caller owns what is opened, to be closed by procfs_lines_close().
int procfs_lines_open(ProcfsLines *lines, int directory, const char *name);
void procfs_lines_close(ProcfsLines *lines);
int procfs_lines_step(ProcfsLines *lines, size_t limit, ProcfsLine line, void *userdata);
