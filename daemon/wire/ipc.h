// The runtime's diagnostic IPC protocol (dotnet/diagnostics, design-docs/ipc-protocol.md) as far
// as one question goes: ProcessInfo. Little endian throughout.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IPC_HEADER_SIZE 20
#define IPC_VERSION_NEWEST 3 // ProcessInfo3 (.NET 8), 2 (.NET 6), 1 (.NET 5)

// The 20 bytes that ask for ProcessInfo of a version 1..3. There is no payload, and must be none: a
// runtime answers one with bytes of its heap.
void ipc_request(int version, uint8_t ret[static IPC_HEADER_SIZE]);

// A reply's strings, UTF-8, owned; NULL where this version of the reply has no such field.
typedef struct IpcProcessInfo {
    uint64_t pid; // in the process's own pid namespace
    uint8_t cookie[16];
    char *command_line;
    char *operating_system;
    char *architecture;
    char *entry_assembly;
    char *runtime_version;
    char *portable_rid;
} IpcProcessInfo;
void ipc_process_info_done(IpcProcessInfo *info);

typedef enum IpcResult {
    IPC_OK = 1,
    IPC_MORE,            // as many bytes as there are so far are right; read on
    IPC_UNKNOWN_COMMAND, // the runtime is older than this version of the question
    IPC_ERROR_REPLY,     // a well-formed error: there is a diagnostic server, it gave no answer
    IPC_BAD,             // not the protocol
} IpcResult;

// Looks at the `size` bytes of a reply to ipc_request(version) that came so far. IPC_OK: *ret holds
// it, to be freed with ipc_process_info_done(). IPC_MORE: *ret_wanted is how many bytes the reply
// has in all as far as is known (20, then the header's size). IPC_ERROR_REPLY: *ret_code is the
// HRESULT. IPC_BAD: *ret_fault says what was wrong, a static string. -ENOMEM.
int ipc_reply_parse(int version, const uint8_t *bytes, size_t size, IpcProcessInfo *ret,
                    size_t *ret_wanted, uint32_t *ret_code, const char **ret_fault);
