// Processes to be seen: forked from the test, each runs one function and can be stepped through it.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <sys/types.h>

typedef struct Child {
    pid_t pid;
    int control; // owned
} Child;

// What a child does. When it returns the child waits to be ended.
typedef void (*ChildBody)(int control, const void *argument);

// Returns once the child has come to its first child_pause() or to the end of `body`.
Child child_start(ChildBody body, const void *argument);
// Lets it go on to the next one.
void child_go(Child *child);
// Lets it go on and does not wait: it executes another program, or ends.
void child_let_go(Child *child);
void child_end(Child *child);

// In the child: says that it has come here and waits for child_go().
void child_pause(int control);
// In the child: sends a number, for the parent's child_number().
void child_tell(int control, int number);
int child_number(const Child *child);

// What children do. Any failure ends the process that calls, loudly.
#define MUST(condition) must((condition), #condition, __FILE__, __LINE__)
void must(bool condition, const char *text, const char *file, int line);

int make_memfd(const char *name);
void map_fd(int fd, int protection);
// As the runtime does it: memfd_create, mmap, close.
void map_named(const char *name, int protection);
// A socket of this type bound to `path`; its descriptor.
int bind_at(const char *path, int type);
// A listening stream socket bound to `path`; its descriptor.
int listen_at(const char *path);
// A new folder below /tmp, to be removed by remove_folder() with the sockets in it.
void make_folder(char path[static 32]);
void remove_folder(const char *path);
