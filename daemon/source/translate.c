// Clocks and fields of the kernel's records.
// SPDX-License-Identifier: MIT
#include "translate.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "kernel_version.h"
#include "procfs.h"
#include "procfs_text.h"

#define NSEC_PER_SEC UINT64_C(1000000000)

_Static_assert(COMMAND_SIZE == DISCOVERY_COMMAND_SIZE, "a command fits as it is");
_Static_assert(SOCKET_PATH_SIZE == DISCOVERY_SOCKET_PATH_MAX + 1, "and so does a path with a NUL");

Clocks clocks_of_daemon(void) {
    long ticks = sysconf(_SC_CLK_TCK);
    Clocks clocks = {.ns_per_tick = NSEC_PER_SEC / (ticks > 0 ? (uint64_t)ticks : 100)};

    // Absent on a kernel without time namespaces: no offset then.
    char text[256];
    size_t size;
    _cleanup_close_ int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (self >= 0 && procfs_read(self, "timens_offsets", text, sizeof text, &size) >= 0)
        (void)procfs_text_boottime_offset(text, &clocks.boottime_offset_ns);
    clocks.start_offset_ns = kernel_is_before(5, 11) ? 0 : clocks.boottime_offset_ns;
    return clocks;
}

// As the kernel does it for /proc: unsigned, so that an offset may be negative.
uint64_t clocks_shown_ns(Clocks clocks, uint64_t ns) {
    return ns + (uint64_t)clocks.boottime_offset_ns;
}

static ProcessKey key_of(Clocks clocks, const struct discovery_record *record) {
    return (ProcessKey){
        .pid = (pid_t)record->pid,
        .start_ticks =
            (record->start_time_ns + (uint64_t)clocks.start_offset_ns) / clocks.ns_per_tick,
        .exec_count = record->exec_count,
    };
}

Input translate_record(Clocks clocks, const struct discovery_record *record, Instant now) {
    if (record->header.kind == DISCOVERY_RECORD_EXEC)
        return (Input){.kind = INPUT_EXEC, .exec = key_of(clocks, record)};

    unsigned kind = record->header.kind;
    bool mapping = kind == DISCOVERY_RECORD_MAPPING;
    Input input = {
        .kind = INPUT_SIGNAL,
        .signal =
            {
                .kind = mapping                           ? SIGNAL_MAPPING
                        : kind == DISCOVERY_RECORD_LISTEN ? SIGNAL_LISTEN
                                                          : SIGNAL_SCAN,
                .key = key_of(clocks, record),
                .namespace_pid = (pid_t)record->namespace_pid,
                .uid = record->uid,
                .gid = record->gid,
                .protection = mapping ? (int)record->protection : PROTECTION_UNKNOWN,
                .seen =
                    instant_at(now, clocks_shown_ns(clocks, record->timestamp_ns) / NSEC_PER_USEC),
            },
    };
    memcpy(input.signal.command, record->command, sizeof record->command);
    memcpy(input.signal.socket_path, record->socket_path, record->socket_path_length);
    return input;
}
