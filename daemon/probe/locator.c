// The table of Unix sockets names path and inode of every listener in the target's network
// namespace, its descriptors say which of them it holds. Right under any TMPDIR, with cut names, in
// other pid and time namespaces, since nothing is computed. A child of fork() holds its parent's
// socket as well; SO_PEERCRED tells them apart later. Both lists are as long as somebody likes, and
// opening them may block: this is for a worker's thread.
//
// Where a socket with the runtime's own name is there, no other is considered: the rest are the
// application's, and a question they do not understand is a disturbance.
// SPDX-License-Identifier: MIT
#include "locator.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "procfs.h"
#include "unix_table.h"

enum { TABLE_READ = 4096 }; // as much as the kernel gives at once

typedef struct Inodes {
    uint64_t *items; // owned
    size_t count;
    size_t capacity;
} Inodes;

typedef struct Locator {
    const Target *target; // borrowed
    Inodes inodes;        // of the sockets among its descriptors, sorted

    size_t table_read;
    char text[2 * TABLE_READ]; // the table from the beginning of a line
    size_t text_size;

    Candidates named; // as the runtime names its default socket
    Candidates others;
} Locator;

static void locator_free(Locator *locator) {
    free(locator->inodes.items);
    free(locator);
}
DEFINE_CLEANUP(Locator *, locator_free);

static void closedirp(DIR **directory) {
    if (*directory)
        closedir(*directory);
}

static int unreadable(int error, const char *what, Failure *failure) {
    if (failure_is_ours(error))
        return -error;
    bool gone = error == ENOENT || error == ESRCH;
    failure_set(failure, gone ? OUTCOME_VANISHED : OUTCOME_PERMISSION_DENIED, NULL, error,
                "reading its %s", what);
    return STEP_FAILED;
}

static int inodes_add(Inodes *inodes, uint64_t inode) {
    if (inodes->count == inodes->capacity) {
        size_t capacity = inodes->capacity > 0 ? 2 * inodes->capacity : 64;
        uint64_t *items = reallocarray(inodes->items, capacity, sizeof *items);
        if (!items)
            return -ENOMEM;
        inodes->items = items;
        inodes->capacity = capacity;
    }
    inodes->items[inodes->count++] = inode;
    return 0;
}

static int compare_inodes(const void *left, const void *right) {
    uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;
    return (l > r) - (l < r);
}

static int read_descriptors(Locator *locator, Failure *failure) {
    _cleanup_close_ int fd =
        openat(locator->target->directory, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return unreadable(errno, "descriptors", failure);
    _cleanup_(closedirp) DIR *descriptors = fdopendir(fd);
    if (!descriptors)
        return -errno;
    (void)TAKE_FD(fd);

    // An error ends the list as its end does: the process is going.
    Inodes *inodes = &locator->inodes;
    const struct dirent *entry;
    for (size_t seen = 0; seen < BOUND_PROC_DESCRIPTORS && (entry = readdir(descriptors)); seen++) {
        char link[64]; // a longer one is no socket's
        uint64_t inode;
        if (procfs_read_link(dirfd(descriptors), entry->d_name, link, sizeof link) < 0 ||
            !procfs_text_socket_link(link, &inode))
            continue;
        int r = inodes_add(inodes, inode);
        if (r < 0)
            return r;
    }
    if (inodes->count > 0)
        qsort(inodes->items, inodes->count, sizeof *inodes->items, compare_inodes);
    return STEP_DONE;
}

static void candidates_add(Candidates *candidates, const char *path) {
    size_t size = strlen(path) + 1;
    if (candidates->count == BOUND_CANDIDATES || size > SOCKET_PATH_SIZE)
        return;
    for (size_t i = 0; i < candidates->count; i++) {
        if (strcmp(candidates->paths[i], path) == 0)
            return;
    }
    memcpy(candidates->paths[candidates->count++], path, size);
}

static void take_line(Locator *locator, const char *line) {
    UnixListener listener;
    if (!unix_table_listener(line, &listener) || locator->inodes.count == 0 ||
        !bsearch(&listener.inode, locator->inodes.items, locator->inodes.count,
                 sizeof listener.inode, compare_inodes))
        return;
    bool named = unix_table_is_diagnostic(listener.path);
    candidates_add(named ? &locator->named : &locator->others, listener.path);
}

// Takes the whole lines of the text and keeps the rest.
static void take_lines(Locator *locator) {
    char *line = locator->text, *end = locator->text + locator->text_size;
    for (char *newline; (newline = memchr(line, '\n', (size_t)(end - line))); line = newline + 1) {
        *newline = '\0';
        take_line(locator, line);
    }
    locator->text_size = (size_t)(end - line);
    memmove(locator->text, line, locator->text_size);
    if (locator->text_size >= TABLE_READ)
        locator->text_size = 0; // no line of the kernel's is so long
}

static int read_table(Locator *locator, Failure *failure) {
    _cleanup_close_ int table =
        openat(locator->target->directory, "net/unix", O_RDONLY | O_CLOEXEC);
    if (table < 0)
        return unreadable(errno, "table of Unix sockets", failure);
    while (locator->table_read < BOUND_SOCKET_TABLE && locator->named.count < BOUND_CANDIDATES) {
        ssize_t n = read(table, locator->text + locator->text_size, TABLE_READ);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return unreadable(errno, "table of Unix sockets", failure);
        if (n == 0)
            break;
        locator->table_read += (size_t)n;
        locator->text_size += (size_t)n;
        take_lines(locator);
    }
    return STEP_DONE;
}

int locator_find(const Target *target, bool named_only, Candidates *ret, Failure *failure) {
    _cleanup_(locator_freep) Locator *locator = malloc(sizeof *locator);
    if (!locator)
        return -ENOMEM;
    *locator = (Locator){.target = target};
    int r = read_descriptors(locator, failure);
    if (r == STEP_DONE)
        r = read_table(locator, failure);
    if (r != STEP_DONE)
        return r;

    const Candidates *found = locator->named.count > 0 ? &locator->named : &locator->others;
    if (found->count == 0) {
        failure_set(failure, OUTCOME_NO_SOCKET, NULL, 0, "%s",
                    locator->table_read < BOUND_SOCKET_TABLE
                        ? "it listens on no Unix socket"
                        : "the table of Unix sockets is too long to find its own");
        return STEP_FAILED;
    }
    if (found == &locator->others && named_only) {
        failure_set(failure, OUTCOME_NO_SOCKET, NULL, 0,
                    "it listens on Unix sockets, none of which has the name of a diagnostic one");
        return STEP_FAILED;
    }
    *ret = *found;
    return STEP_DONE;
}
