// How processes that start are noticed: by one of these, the cheapest that works here.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>

// A ladder: what costs the host least comes first.
typedef enum MechanismId {
    MECHANISM_FENTRY,             // at functions of the kernel that few calls reach
    MECHANISM_KPROBE,             // at the same ones, by a breakpoint or a jump
    MECHANISM_SYSCALL_TRACEPOINT, // where mmap(2) and listen(2) enter the kernel; needs tracefs
    MECHANISM_RAW_TRACEPOINT,     // where every system call does
    MECHANISM_PERF,               // the records of mappings that perf reads; no BPF at all
    MECHANISM_SCAN,               // nothing tells; scans at an interval
    MECHANISM_COUNT_,
    MECHANISM_AUTO = MECHANISM_COUNT_, // the first that passes its self-test
} MechanismId;

typedef struct Mechanism {
    const char *name; // static, as --mechanism= takes it
    const char *cost; // static: what its use costs the host, and what it does not notice
    bool used;
    // Owned; why it is not used. NULL for the one that is, and for those after it, which were not
    // needed.
    char *detail;
} Mechanism;

// "fentry", "kprobe", "syscall-tracepoint", "raw-tracepoint", "perf", "scan"; "auto".
const char *mechanism_to_string(MechanismId id);
// False where nothing has that name.
bool mechanism_from_string(const char *name, MechanismId *ret);
const char *mechanism_cost(MechanismId id);
