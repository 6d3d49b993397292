// A record of perf_event_open(2), of an event with mmap, mmap_data, mmap2, comm and comm_exec set,
// sample_id_all, and PERF_SAMPLE_TIME as its sample type.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    // What stands at the front of each: its type and its own size. All sizes are multiples of it,
    // so a ring buffer's end never cuts one in two.
    PERF_RECORD_HEADER = 8,
    // Nothing longer is of interest.
    PERF_RECORD_LONGEST = 120,
};

typedef enum PerfRecordKind {
    PERF_RECORD_KIND_OTHER,   // not of interest
    PERF_RECORD_KIND_MAPPING, // a process mapped the name
    PERF_RECORD_KIND_TEST,    // the same with the name of the self-test
    PERF_RECORD_KIND_EXECVE,  // a process called execve
    PERF_RECORD_KIND_LOSS,    // the ring buffer had no room for records
} PerfRecordKind;

typedef struct PerfRecord {
    PerfRecordKind kind;
    uint64_t time_ns; // of the event's clock; set unless the kind is OTHER, so are the others
    pid_t pid;        // in the pid namespace of whoever opened the event
    int protection;   // PROT_* bits, mappings only
    uint64_t lost;    // records
} PerfRecord;

// The size of the whole record, from its first PERF_RECORD_HEADER bytes; 0 where no kernel writes
// such a size.
size_t perf_record_size(const void *header);

// Decodes one whole record of `size` bytes, as its header says it; it is aligned to 8 bytes. False
// where it is not as the kernel writes it, *ret is then left alone. A record of another process
// than those of the opener's namespace has no pid and is OTHER.
bool perf_record_decode(const void *bytes, size_t size, PerfRecord *ret);
