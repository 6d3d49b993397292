// The listening diagnostic sockets that a scan of /proc came across, and for each the process that
// most likely owns it. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "process.h"

typedef struct Listener {
    uint64_t inode;
    char path[SOCKET_PATH_SIZE]; // as bound
    pid_t names;                 // the innermost pid of who made it, as the path says; 0: none
    ProcessKey holder;           // pid 0: none was seen yet
    bool named;                  // the path names the holder's pid
    bool told;                   // by the scan under way
    bool believed;               // by it: that nobody holds it, as the scan before found
    unsigned beliefs;            // scans to come that may take it that nobody holds it
} Listener;

typedef struct Listeners {
    Listener *items;  // owned; sorted by inode once sealed
    Listener **order; // owned, since they are sealed: all of them in another order
    size_t count;
    size_t capacity;
} Listeners;

void listeners_done(Listeners *listeners);

// Adds one, before listeners_seal(). -ENOBUFS beyond BOUND_SCAN_LISTENERS, -ENOMEM.
int listeners_add(Listeners *listeners, uint64_t inode, const char *path);
// Sorts them and drops what was added twice; from now on they can be found. -ENOMEM.
int listeners_seal(Listeners *listeners);
// Puts `order` so that those which name one pid, or are of one holder, stand together: however many
// of them a process has, it is to be looked at once. Of a holder those come first that name it.
void listeners_by_name(Listeners *listeners);
void listeners_by_holder(Listeners *listeners);
// Borrowed; NULL where there is none.
Listener *listeners_find(const Listeners *listeners, uint64_t inode);

// A process holds a descriptor of it. Of several the owner is taken to be the one whose innermost
// pid stands in the path, as the runtime writes it; else the oldest.
void listener_hold(Listener *listener, const ProcessKey *key, pid_t namespace_pid);
// That holder has ended, or cannot be looked at.
void listener_drop(Listener *listener);
// Nobody in sight does, after a look at everybody: the next scans need not look again. Some do, for
// who holds it may have been between two processes, or have given birth and ended meanwhile.
void listener_give_up(Listener *listener);
// Takes over what the scan before found: a holder, which may have ended since, or that nobody in
// sight holds it. False where it found nothing that is to be believed.
bool listener_recall(Listener *listener, const Listeners *before);
