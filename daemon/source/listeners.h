// The listening diagnostic sockets that a scan of /proc came across, and for each the process that
// most likely owns it. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "process.h"

typedef struct Listener {
    uint64_t inode;
    char path[SOCKET_PATH_SIZE]; // as bound
    ProcessKey holder;           // pid 0: none was seen yet
    bool named;                  // the path names the holder's pid
} Listener;

typedef struct Listeners {
    Listener *items; // owned; sorted by inode once sealed
    size_t count;
    size_t capacity;
} Listeners;

void listeners_done(Listeners *listeners);

// Adds one, before listeners_seal(). -ENOBUFS beyond BOUND_SCAN_LISTENERS, -ENOMEM.
int listeners_add(Listeners *listeners, uint64_t inode, const char *path);
// Sorts them and drops what was added twice; from now on they can be found.
void listeners_seal(Listeners *listeners);
// Borrowed; NULL where there is none.
Listener *listeners_find(const Listeners *listeners, uint64_t inode);

// A process holds a descriptor of it. Of several the owner is taken to be the one whose innermost
// pid stands in the path, as the runtime writes it; else the oldest.
void listener_hold(Listener *listener, const ProcessKey *key, pid_t namespace_pid);
