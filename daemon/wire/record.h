// The kernel side's record (include/discovery_record.h): from bytes to a checked struct.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>

#include "discovery_record.h"

typedef enum RecordResult {
    RECORD_OK = 1,
    RECORD_SHORT,   // more bytes are needed (a stream) or missing (a ring buffer)
    RECORD_VERSION, // of another version of the kernel side
    RECORD_BAD,     // kind, size, pid or length that no kernel side writes
} RecordResult;

// Decodes the record at the front of `bytes`. RECORD_OK: *ret holds it (a progress record: its
// header alone, the rest zero), command ends with a NUL, *ret_size is what it took. `bytes` need
// not be aligned.
RecordResult record_decode(const void *bytes, size_t size, struct discovery_record *ret,
                           size_t *ret_size);
