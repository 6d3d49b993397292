// A sorted array: filled once a scan, then searched for every socket of every process.
// SPDX-License-Identifier: MIT
#include "listeners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "discovery_names.h"
#include "scan.h"

void listeners_done(Listeners *listeners) {
    free(listeners->items);
    *listeners = (Listeners){0};
}

int listeners_add(Listeners *listeners, uint64_t inode, const char *path) {
    if (listeners->count == BOUND_SCAN_LISTENERS)
        return -ENOBUFS;
    if (listeners->count == listeners->capacity) {
        size_t capacity = listeners->capacity ? 2 * listeners->capacity : 64;
        Listener *items = reallocarray(listeners->items, capacity, sizeof *items);
        if (!items)
            return -ENOMEM;
        listeners->items = items;
        listeners->capacity = capacity;
    }
    Listener *listener = &listeners->items[listeners->count++];
    *listener = (Listener){.inode = inode};
    memcpy(listener->path, path, strnlen(path, sizeof listener->path - 1));
    return 0;
}

static int compare(const void *left, const void *right) {
    const Listener *a = left, *b = right;
    return (a->inode > b->inode) - (a->inode < b->inode);
}

void listeners_seal(Listeners *listeners) {
    if (listeners->count == 0)
        return;
    qsort(listeners->items, listeners->count, sizeof *listeners->items, compare);
    size_t kept = 1;
    for (size_t i = 1; i < listeners->count; i++)
        if (listeners->items[i].inode != listeners->items[kept - 1].inode)
            listeners->items[kept++] = listeners->items[i];
    listeners->count = kept;
}

Listener *listeners_find(const Listeners *listeners, uint64_t inode) {
    const Listener key = {.inode = inode};
    if (listeners->count == 0)
        return NULL;
    return bsearch(&key, listeners->items, listeners->count, sizeof key, compare);
}

// dotnet-diagnostic-PID-: a name that was cut inside the pid names nobody.
static bool names(const char *path, pid_t pid) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    uint64_t number;
    return scan_literal(&name, DISCOVERY_SOCKET_PREFIX) && scan_decimal(&name, &number) &&
           *name == '-' && number == (uint64_t)pid;
}

void listener_hold(Listener *listener, const ProcessKey *key, pid_t namespace_pid) {
    bool named = names(listener->path, namespace_pid);
    const ProcessKey *holder = &listener->holder;
    bool better = holder->pid == 0 || (named && !listener->named);
    // A child may have started within the same tick; its pid is mostly the greater one.
    if (!better && named == listener->named)
        better = key->start_ticks < holder->start_ticks ||
                 (key->start_ticks == holder->start_ticks && key->pid < holder->pid);
    if (better) {
        listener->holder = *key;
        listener->named = named;
    }
}
