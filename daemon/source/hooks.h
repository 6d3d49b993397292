// The programs of the mechanisms that are BPF, at the places where this kernel lets them be.
// Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel.h"

enum { HOOKS_MAX = 5, HOOKS_KIND_SIZE = 96 };

typedef struct Hooks {
    struct bpf_link *links[HOOKS_MAX]; // owned
    size_t count;
    char mapping[HOOKS_KIND_SIZE]; // "fentry shmem_mmap, hugetlbfs_file_mmap"; "" where left out
    char listen[HOOKS_KIND_SIZE];
} Hooks;

typedef enum HooksResult {
    HOOKS_ATTACHED,
    HOOKS_REFUSED,
} HooksResult;

// Loads and attaches those that are not left out; all of them or none. HOOKS_REFUSED: *ret_why says
// why, what to do, and is the caller's. -ENOMEM.
int hooks_attach(Hooks *hooks, const Kernel *kernel, MechanismId mechanism, char **ret_why);
// Also of one that is all zero.
void hooks_done(Hooks *hooks);
