// The kernel side as the daemon holds it: the loaded object, what of it is attached, its maps.
// Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "source.h"

struct bpf_link;
struct discovery;

typedef struct Kernel {
    struct discovery *object;               // owned; NULL where nothing could be loaded
    struct bpf_link *links[PROGRAM_COUNT_]; // owned; NULL where not attached
    Program programs[PROGRAM_COUNT_];
    uint64_t *lost; // owned: room for one count for each possible CPU
    size_t cpus;
} Kernel;

// Loads and attaches what works; what does not is told in `programs`. -ENOMEM.
int kernel_init(Kernel *kernel, const SourceOptions *options);
void kernel_done(Kernel *kernel);

// The map of the ring buffer, borrowed; -1 where nothing is loaded.
int kernel_records(const Kernel *kernel);
// How many records the ring buffer had no room for, since it was loaded.
uint64_t kernel_lost(const Kernel *kernel);
// A new run of the scan iterator, to be read to its end; the caller owns it. -EOPNOTSUPP where the
// iterator is missing.
int kernel_open_scan(const Kernel *kernel);

// Has the kernel side tell of the next execve of this pid, unless it does already.
void kernel_remember(const Kernel *kernel, const ProcessKey *key);
// Stops that. With an exec count only where it is the one that was entered: a later life stays.
void kernel_forget(const Kernel *kernel, pid_t pid, uint64_t exec_count);
