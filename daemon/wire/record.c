// The record comes from our own kernel side, yet maybe from another build of it, and the iterator's
// bytes come through read(), which may stop anywhere: everything is checked before it is believed.
// SPDX-License-Identifier: MIT
#include "record.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

// 0 where no kernel side writes such a kind.
static size_t size_of_kind(unsigned kind) {
    switch (kind) {
    case DISCOVERY_RECORD_PROGRESS:
        return sizeof(struct discovery_record_header);
    case DISCOVERY_RECORD_MAPPING:
    case DISCOVERY_RECORD_SCAN:
    case DISCOVERY_RECORD_EXEC:
    case DISCOVERY_RECORD_LISTEN:
        return sizeof(struct discovery_record);
    default:
        return 0;
    }
}

// Whoever uses a record hands its pid to pidfd_open() and the like, where 0 and what is negative as
// a pid_t mean something else.
static bool is_believable(const struct discovery_record *record) {
    return record->pid > 0 && record->pid <= INT_MAX && record->namespace_pid <= INT_MAX &&
           record->socket_path_length <= sizeof record->socket_path;
}

RecordResult record_decode(const void *bytes, size_t size, struct discovery_record *ret,
                           size_t *ret_size) {
    struct discovery_record record = {0};
    if (size < sizeof record.header)
        return RECORD_SHORT;
    memcpy(&record.header, bytes, sizeof record.header);
    if (record.header.version != DISCOVERY_RECORD_VERSION)
        return RECORD_VERSION;

    size_t wanted = size_of_kind(record.header.kind);
    if (wanted == 0 || record.header.size != wanted)
        return RECORD_BAD;
    if (size < wanted)
        return RECORD_SHORT;
    if (wanted > sizeof record.header) {
        memcpy(&record, bytes, sizeof record);
        if (!is_believable(&record))
            return RECORD_BAD;
        record.command[sizeof record.command - 1] = '\0';
    }

    *ret = record;
    *ret_size = wanted;
    return RECORD_OK;
}
