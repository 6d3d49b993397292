// One life of one process, as the registry keeps it and everybody else reads it.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "instant.h"

typedef enum State {
    STATE_DETECTED,    // a signal named it, its port has not answered yet
    STATE_READY,       // its own port answered
    STATE_UNREACHABLE, // it did not; see the reason
    STATE_GONE,        // it exited or called execve
    STATE_COUNT_,
} State;

typedef enum Reason {
    REASON_NONE,
    REASON_NO_SOCKET,
    REASON_REFUSED,
    REASON_PERMISSION_DENIED,
    REASON_TIMEOUT,
    REASON_NOT_OWNER,
    REASON_PROTOCOL_ERROR,
    REASON_COUNT_,
} Reason;

typedef enum SignalKind {
    SIGNAL_MAPPING, // the kernel reported the named mapping
    SIGNAL_LISTEN,  // the kernel reported a listen() at a diagnostic socket
    SIGNAL_SCAN,    // found already running
    SIGNAL_KIND_COUNT_,
} SignalKind;

// The names of the public interface; NULL for REASON_NONE.
const char *state_to_string(State state);
const char *reason_to_string(Reason reason);
const char *signal_kind_to_string(SignalKind kind);
// -EINVAL where no value has this name.
int state_from_string(const char *name, State *ret);

// The exec count where only /proc could be read.
#define EXEC_COUNT_UNKNOWN UINT64_MAX
// Whatever life the pid has now: to ask about, never that of a process which is kept.
#define START_TICKS_UNKNOWN UINT64_MAX
#define UID_UNKNOWN ((uid_t)-1)
#define GID_UNKNOWN ((gid_t)-1)
#define PROTECTION_UNKNOWN (-1)
#define COMMAND_SIZE 16      // TASK_COMM_LEN
#define SOCKET_PATH_SIZE 109 // a full sun_path and a NUL

// Which life of which process. Grows along all three while the system runs.
typedef struct ProcessKey {
    pid_t pid;            // in the daemon's pid namespace
    uint64_t start_ticks; // field 22 of /proc/PID/stat
    uint64_t exec_count;  // task->self_exec_id or EXEC_COUNT_UNKNOWN
} ProcessKey;

// What one attempt to reach a process learned about it. Never changed once made; strings are owned,
// are bytes as the process showed them (nothing is escaped yet) and are NULL where unknown.
typedef struct Facts {
    uid_t uid; // effective
    gid_t gid;
    pid_t namespace_pid; // 0 where unknown
    int protection;      // of the mapping, where asked for and found, else PROTECTION_UNKNOWN
    char command[COMMAND_SIZE];
    char *executable;
    char *cgroup;
    char *unit;
    char *user_unit;
    char *container_id;
    char *arguments; // each ended with a NUL
    size_t arguments_size;
    bool arguments_truncated;
    char *socket_path; // as bound; NULL where no socket was found

    // Where it has none, for people.
    const char *runtime; // static: what it maps that only a runtime does; NULL: not seen
    char *taken_path;    // a file that has the name of its default socket; NULL: not seen

    // From the answer of the diagnostic port; unknown (.NET Core 3.1) or none yet: NULL and false.
    bool has_cookie;
    uint8_t cookie[16];
    char *runtime_version;
    char *entry_assembly;
    char *operating_system;
    char *architecture;
    char *portable_rid;
} Facts;

// All unknown; NULL when out of memory.
Facts *facts_new(void);
void facts_free(Facts *facts);

// What filters and visibility look at: kept apart so that a change can carry it as it was before.
typedef struct Traits {
    pid_t pid;
    uid_t uid; // effective; UID_UNKNOWN: root and the group only
    State state;
    char command[COMMAND_SIZE];
    const Facts *facts; // owned by the process; NULL until an attempt ended
} Traits;

typedef struct Process {
    uint64_t serial; // unique in this run, grows with each life begun
    ProcessKey key;
    uint64_t id_exec_count; // key.exec_count when the life began: the id must not change later
    uint64_t id_again;      // where that is unknown, and a life before had the same key: the serial
    Traits traits;
    gid_t gid;
    pid_t namespace_pid;                // 0 where unknown
    Reason reason;                      // of STATE_UNREACHABLE, else REASON_NONE
    char *detail;                       // what failed last, for people; owned, may be NULL
    SignalKind signal;                  // the one that began this life here
    int protection;                     // PROT_* of the mapping or PROTECTION_UNKNOWN
    char socket_hint[SOCKET_PATH_SIZE]; // where a signal saw its socket, "" where it did not
    Instant detected;
    Instant ready;     // zero until it is
    uint64_t sequence; // of its last change
} Process;
