// A sorted array: filled once a scan, then searched for every socket of every process, and by the
// next scan for what is known already.
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
    free(listeners->order);
    *listeners = (Listeners){0};
}

// dotnet-diagnostic-PID-: a name that was cut inside the pid names nobody.
static pid_t pid_in(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    uint64_t number;
    bool whole = scan_literal(&name, DISCOVERY_SOCKET_PREFIX) && scan_decimal(&name, &number) &&
                 *name == '-' && number <= INT32_MAX;
    return whole ? (pid_t)number : 0;
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
    listener->names = pid_in(listener->path);
    return 0;
}

static int compare(const void *left, const void *right) {
    const Listener *a = left, *b = right;
    return (a->inode > b->inode) - (a->inode < b->inode);
}

int listeners_seal(Listeners *listeners) {
    if (listeners->count == 0)
        return 0;
    qsort(listeners->items, listeners->count, sizeof *listeners->items, compare);
    size_t kept = 1;
    for (size_t i = 1; i < listeners->count; i++)
        if (listeners->items[i].inode != listeners->items[kept - 1].inode)
            listeners->items[kept++] = listeners->items[i];
    listeners->order = calloc(kept, sizeof(Listener *));
    if (!listeners->order)
        return -ENOMEM;
    for (size_t i = 0; i < kept; i++)
        listeners->order[i] = &listeners->items[i];
    listeners->count = kept;
    return 0;
}

static int compare_names(const void *left, const void *right) {
    const Listener *a = *(Listener *const *)left, *b = *(Listener *const *)right;
    return (a->names > b->names) - (a->names < b->names);
}

static int compare_holders(const void *left, const void *right) {
    const Listener *a = *(Listener *const *)left, *b = *(Listener *const *)right;
    if (a->holder.pid != b->holder.pid)
        return a->holder.pid > b->holder.pid ? 1 : -1;
    if (a->holder.start_ticks != b->holder.start_ticks)
        return a->holder.start_ticks > b->holder.start_ticks ? 1 : -1;
    return b->named - a->named;
}

void listeners_by_name(Listeners *listeners) {
    if (listeners->count > 0)
        qsort(listeners->order, listeners->count, sizeof(Listener *), compare_names);
}

void listeners_by_holder(Listeners *listeners) {
    if (listeners->count > 0)
        qsort(listeners->order, listeners->count, sizeof(Listener *), compare_holders);
}

Listener *listeners_find(const Listeners *listeners, uint64_t inode) {
    const Listener key = {.inode = inode};
    if (listeners->count == 0)
        return NULL;
    return bsearch(&key, listeners->items, listeners->count, sizeof key, compare);
}

void listener_hold(Listener *listener, const ProcessKey *key, pid_t namespace_pid) {
    bool named = namespace_pid > 0 && listener->names == namespace_pid;
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

void listener_drop(Listener *listener) {
    listener->holder = (ProcessKey){0};
    listener->named = false;
}

void listener_give_up(Listener *listener) {
    listener->beliefs = BOUND_SCAN_BELIEFS;
}

bool listener_recall(Listener *listener, const Listeners *before) {
    const Listener *known = listeners_find(before, listener->inode);
    if (!known || strcmp(known->path, listener->path) != 0)
        return false;
    listener->holder = known->holder;
    listener->named = known->named;
    if (known->holder.pid != 0)
        return true;
    if (known->beliefs == 0)
        return false;
    listener->believed = true;
    listener->beliefs = known->beliefs - 1;
    return true;
}
