// The table of Unix sockets names path and inode of every listener in the target's network
// namespace, its descriptors say which of them it holds. Right under any TMPDIR, with cut names, in
// other pid and time namespaces, since nothing is computed. A child of fork() holds its parent's
// socket as well; SO_PEERCRED tells them apart later. Both lists are as long as somebody likes, so
// they are read in steps between which the loop goes on.
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

// What a read of net/unix costs, in descriptors looked at.
enum {
    TABLE_READ = 4096, // as much as the kernel gives at once
    TABLE_READ_COST = 32,
};

typedef struct Inodes {
    uint64_t *items; // owned
    size_t count;
    size_t capacity;
} Inodes;

struct Locator {
    const Target *target; // borrowed

    // First the sockets among its descriptors.
    DIR *descriptors; // owned, NULL once read
    size_t descriptors_seen;
    Inodes inodes; // sorted once read

    // Then the table.
    int table; // owned, -1 until then
    size_t table_read;
    char text[2 * TABLE_READ]; // the table from the beginning of a line
    size_t text_size;

    Candidates named; // as the runtime names its default socket
    Candidates others;
};

static void locator_freep(Locator **locator) {
    locator_free(*locator);
}

void locator_free(Locator *locator) {
    if (!locator)
        return;
    if (locator->descriptors)
        closedir(locator->descriptors);
    safe_close(locator->table);
    free(locator->inodes.items);
    free(locator);
}

static int unreadable(int error, const char *what, Failure *failure) {
    if (failure_is_ours(error))
        return -error;
    bool gone = error == ENOENT || error == ESRCH;
    failure_set(failure, gone ? OUTCOME_VANISHED : OUTCOME_PERMISSION_DENIED, NULL, error,
                "reading its %s", what);
    return STEP_FAILED;
}

int locator_new(const Target *target, Locator **ret, Failure *failure) {
    _cleanup_(locator_freep) Locator *locator = malloc(sizeof *locator);
    if (!locator)
        return -ENOMEM;
    *locator = (Locator){.target = target, .table = -1};

    _cleanup_close_ int fd = openat(target->directory, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return unreadable(errno, "descriptors", failure);
    locator->descriptors = fdopendir(fd);
    if (!locator->descriptors)
        return -errno;
    TAKE_FD(fd);
    *ret = TAKE_PTR(locator);
    return STEP_DONE;
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

// From the descriptors to the table.
static int turn_over(Locator *locator, Failure *failure) {
    Inodes *inodes = &locator->inodes;
    closedir(locator->descriptors);
    locator->descriptors = NULL;
    if (inodes->count > 0)
        qsort(inodes->items, inodes->count, sizeof *inodes->items, compare_inodes);

    locator->table = openat(locator->target->directory, "net/unix", O_RDONLY | O_CLOEXEC);
    if (locator->table < 0)
        return unreadable(errno, "table of Unix sockets", failure);
    return LOCATOR_MORE;
}

static int read_descriptor(Locator *locator, Failure *failure) {
    // An error ends the list as its end does: the process is going.
    const struct dirent *entry = readdir(locator->descriptors);
    if (!entry || locator->descriptors_seen++ == BOUND_PROC_DESCRIPTORS)
        return turn_over(locator, failure);

    char link[64]; // a longer one is no socket's
    uint64_t inode;
    if (procfs_read_link(dirfd(locator->descriptors), entry->d_name, link, sizeof link) < 0 ||
        !procfs_text_socket_link(link, &inode))
        return LOCATOR_MORE;
    int r = inodes_add(&locator->inodes, inode);
    return r < 0 ? r : LOCATOR_MORE;
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
    if (locator->table_read >= BOUND_SOCKET_TABLE || locator->named.count == BOUND_CANDIDATES)
        return STEP_DONE;
    ssize_t n = read(locator->table, locator->text + locator->text_size, TABLE_READ);
    if (n < 0 && errno != EINTR)
        return unreadable(errno, "table of Unix sockets", failure);
    if (n == 0)
        return STEP_DONE;
    if (n > 0) {
        locator->table_read += (size_t)n;
        locator->text_size += (size_t)n;
        take_lines(locator);
    }
    return LOCATOR_MORE;
}

int locator_step(Locator *locator, const Candidates **ret, Failure *failure) {
    int r = LOCATOR_MORE;
    for (int cost = 0; r == LOCATOR_MORE && cost < BOUND_LOCATE_STEP;) {
        if (locator->descriptors) {
            r = read_descriptor(locator, failure);
            cost++;
        } else {
            r = read_table(locator, failure);
            cost += TABLE_READ_COST;
        }
    }
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
    *ret = found;
    return STEP_DONE;
}
