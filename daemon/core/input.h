// What the registry is told. Everything that happens outside reaches the decisions as one of these.
// SPDX-License-Identifier: MIT
#pragma once

#include "process.h"

// How an attempt to reach a process ended.
typedef enum Outcome {
    OUTCOME_ANSWERED,
    OUTCOME_NO_SOCKET,
    OUTCOME_REFUSED,
    OUTCOME_HUNG_UP, // took the connection and closed it without a byte
    OUTCOME_PERMISSION_DENIED,
    OUTCOME_TIMEOUT,
    OUTCOME_NOT_OWNER,
    OUTCOME_PROTOCOL_ERROR,
    OUTCOME_VANISHED,  // the life has ended; its exit may be told separately, before or after
    OUTCOME_NOT_TRIED, // the daemon lacked what it needs (descriptors, memory)
    OUTCOME_COUNT_,
} Outcome;

typedef struct Signal {
    SignalKind kind;
    ProcessKey key;
    pid_t namespace_pid; // 0 where unknown
    uid_t uid;           // effective, or UID_UNKNOWN
    gid_t gid;
    char command[COMMAND_SIZE];
    int protection; // or PROTECTION_UNKNOWN
    char socket_path[SOCKET_PATH_SIZE];
    Instant seen;
} Signal;

typedef enum InputKind {
    INPUT_SIGNAL, // a process can probably be diagnosed
    INPUT_EXEC,   // a process called execve; key.exec_count is the new one
    INPUT_EXIT,   // a process ended, or is not followed: not_followed tells which
    INPUT_PROBED, // an attempt ended
    INPUT_ASKED,  // somebody asks about a process
    INPUT_TIMER,  // registry_next_deadline() has come
} InputKind;

typedef struct Input {
    InputKind kind;
    union {
        Signal signal;
        ProcessKey exec;
        uint64_t asked; // serial
        struct {
            uint64_t serial;
            bool not_followed; // the daemon lacked what it takes; the process may well live
        } exit;
        struct {
            uint64_t serial;
            Outcome outcome;
            char *detail; // owned, NULL allowed
            Facts *facts; // owned, NULL where nothing was learned
        } probed;
    };
} Input;

// Frees what an input still owns; the registry leaves nothing behind in one it was fed.
void input_done(Input *input);
