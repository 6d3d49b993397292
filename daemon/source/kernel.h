// The kernel side as the daemon holds it: the maps, and the programs that no mechanism changes.
// What libbpf needs for loading is given back once that is done. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "source.h"

struct bpf_link;
struct discovery;

typedef struct Kernel {
    const SourceOptions *options;           // borrowed
    int error;                              // why there are no maps, 0: there are
    int records, followed, lost;            // owned: the maps
    struct bpf_link *links[PROGRAM_COUNT_]; // owned; of exec and scan, NULL where not attached
    Program *programs;                      // borrowed: exec and scan are told in it
    uint64_t *lost_counts;                  // owned: room for one for each possible CPU
    size_t cpus;
} Kernel;

// Makes the maps, loads and attaches what works; what does not is told in `programs`. -ENOMEM.
int kernel_init(Kernel *kernel, const SourceOptions *options,
                Program programs[static PROGRAM_COUNT_]);
// Also of one that is all zero.
void kernel_done(Kernel *kernel);

// How many there may ever be, those that are not online included.
size_t kernel_cpus(void);

// An object to load programs from that share the maps: none of them is chosen yet. The caller owns
// it. -errno.
int kernel_open(const Kernel *kernel, struct discovery **ret);

// How many records the ring buffer had no room for, since it was made.
uint64_t kernel_lost(const Kernel *kernel);
// A new run of the scan iterator, to be read to its end; the caller owns it. -EOPNOTSUPP where the
// iterator is missing.
int kernel_open_scan(const Kernel *kernel);

// Has the kernel side tell of the next execve of this pid, unless it does already.
void kernel_remember(const Kernel *kernel, const ProcessKey *key);
// Stops that. With an exec count only where it is the one that was entered: a later life stays.
void kernel_forget(const Kernel *kernel, pid_t pid, uint64_t exec_count);
