// Nearly every record is of somebody else's mapping, so these leave first: by their size, since the
// name looked for and all that stands around it has one size, and then by the name. The layout is
// that of linux/perf_event.h at enum perf_event_type, each record with the time behind it.
// SPDX-License-Identifier: MIT
#include "perf_record.h"

#include <linux/perf_event.h>
#include <string.h>

#include "discovery_names.h"

// As the kernel shows a memfd, which is deleted from the beginning.
#define MAPPING_PATH "/memfd:" DISCOVERY_MAPPING_NAME " (deleted)"
#define TESTING_PATH "/memfd:" DISCOVERY_TESTING_NAME " (deleted)"

typedef struct Mapping {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t address, length, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
    char path[(sizeof MAPPING_PATH + 7) / 8 * 8]; // filled up with NULs
    uint64_t time_ns;
} Mapping;

typedef struct Command {
    struct perf_event_header header;
    uint32_t pid, tid;
    // The command, filled up with NULs to a multiple of 8 bytes, and the time behind it.
} Command;

typedef struct Loss {
    struct perf_event_header header;
    uint64_t id, lost;
    uint64_t time_ns;
} Loss;

_Static_assert(sizeof(struct perf_event_header) == PERF_RECORD_HEADER, "header layout");
_Static_assert(sizeof(Mapping) == PERF_RECORD_LONGEST, "record layout, no implicit padding");
_Static_assert(__builtin_offsetof(Mapping, path) == 72, "record layout");
_Static_assert(sizeof MAPPING_PATH == sizeof TESTING_PATH, "one size for both");
_Static_assert(sizeof(Loss) == 32, "record layout");

size_t perf_record_size(const void *header) {
    struct perf_event_header copy;
    memcpy(&copy, header, sizeof copy);
    return copy.size % PERF_RECORD_HEADER == 0 ? copy.size : 0;
}

// 0 and what is negative as a pid_t: a process of a namespace that the opener does not see, or one
// that is being reaped.
static bool has_pid(uint32_t pid) {
    return pid > 0 && pid <= INT32_MAX;
}

static PerfRecord decode_mapping(const void *bytes, size_t size) {
    Mapping mapping;
    PerfRecord record = {0};
    if (size != sizeof mapping)
        return record;
    const char *path = (const char *)bytes + offsetof(Mapping, path);
    bool testing = memcmp(path, TESTING_PATH, sizeof TESTING_PATH) == 0;
    if (!testing && memcmp(path, MAPPING_PATH, sizeof MAPPING_PATH) != 0)
        return record;
    memcpy(&mapping, bytes, sizeof mapping);
    if (!has_pid(mapping.pid))
        return record;
    return (PerfRecord){
        .kind = testing ? PERF_RECORD_KIND_TEST : PERF_RECORD_KIND_MAPPING,
        .time_ns = mapping.time_ns,
        .pid = (pid_t)mapping.pid,
        .protection = (int)mapping.protection,
    };
}

static bool decode_command(const void *bytes, size_t size, PerfRecord *ret) {
    Command command;
    uint64_t time_ns;
    if (size < sizeof command + 8 + sizeof time_ns)
        return false;
    memcpy(&command, bytes, sizeof command);
    memcpy(&time_ns, (const char *)bytes + size - sizeof time_ns, sizeof time_ns);
    // Without this bit a thread was given a name.
    bool execve = (command.header.misc & PERF_RECORD_MISC_COMM_EXEC) && has_pid(command.pid);
    *ret = execve ? (PerfRecord){.kind = PERF_RECORD_KIND_EXECVE,
                                 .time_ns = time_ns,
                                 .pid = (pid_t)command.pid}
                  : (PerfRecord){0};
    return true;
}

static bool decode_loss(const void *bytes, size_t size, PerfRecord *ret) {
    Loss loss;
    if (size != sizeof loss)
        return false;
    memcpy(&loss, bytes, sizeof loss);
    *ret = (PerfRecord){.kind = PERF_RECORD_KIND_LOSS, .time_ns = loss.time_ns, .lost = loss.lost};
    return true;
}

bool perf_record_decode(const void *bytes, size_t size, PerfRecord *ret) {
    struct perf_event_header header;
    if (size < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    if (header.size != size)
        return false;
    switch (header.type) {
    case PERF_RECORD_MMAP2:
        *ret = decode_mapping(bytes, size);
        return true;
    case PERF_RECORD_COMM:
        return decode_command(bytes, size, ret);
    case PERF_RECORD_LOST:
        return decode_loss(bytes, size, ret);
    default:
        *ret = (PerfRecord){0};
        return true;
    }
}
