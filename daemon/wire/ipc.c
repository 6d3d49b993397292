// One question and its answer, as bytes. A reply is judged from its first byte on, so that a peer
// that speaks another protocol is known for it before it has sent 20 bytes; strings are only read
// once the whole message is there, so that nothing is parsed twice.
// SPDX-License-Identifier: MIT
#include "ipc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "cleanup.h"
#include "macro.h"
#include "text.h"

// The header: magic, size of the whole message, command set, command, two bytes kept for later,
// which a reader has to ignore.
static const uint8_t magic[] = "DOTNET_IPC_V1"; // its NUL is part of it
enum {
    AT_SIZE = sizeof magic,
    AT_SET = 16,
    AT_COMMAND = 17,

    SET_PROCESS = 0x04,
    SET_SERVER = 0xff,
    COMMAND_OK = 0x00,
    COMMAND_ERROR = 0xff,
};
#define CODE_UNKNOWN_COMMAND UINT32_C(0x80131385)

_Static_assert(sizeof magic == 14, "the size stands behind 14 bytes of magic");
_Static_assert(BOUND_IPC_MESSAGE >= UINT16_MAX, "the header's size needs no check of its own");

void ipc_request(int version, uint8_t ret[static IPC_HEADER_SIZE]) {
    static const uint8_t commands[IPC_VERSION_NEWEST + 1] = {[1] = 0x00, [2] = 0x04, [3] = 0x08};
    assert(version >= 1 && version <= IPC_VERSION_NEWEST);

    memset(ret, 0, IPC_HEADER_SIZE);
    memcpy(ret, magic, sizeof magic);
    ret[AT_SIZE] = IPC_HEADER_SIZE;
    ret[AT_SET] = SET_PROCESS;
    ret[AT_COMMAND] = commands[version];
}

void ipc_process_info_done(IpcProcessInfo *info) {
    if (!info)
        return;
    free(info->command_line);
    free(info->operating_system);
    free(info->architecture);
    free(info->entry_assembly);
    free(info->runtime_version);
    free(info->portable_rid);
    *info = (IpcProcessInfo){0};
}

// What is left of a message.
typedef struct Payload {
    const uint8_t *bytes;
    size_t size;
} Payload;

static bool take(Payload *payload, size_t size, const uint8_t **ret) {
    if (payload->size < size)
        return false;
    *ret = payload->bytes;
    payload->bytes += size;
    payload->size -= size;
    return true;
}

static bool take_number(Payload *payload, size_t size, uint64_t *ret) {
    const uint8_t *bytes;
    if (!take(payload, size, &bytes))
        return false;
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | bytes[size];
    *ret = value;
    return true;
}

// A u32 count of UTF-16 units, the NUL among them, and the units.
static int take_string(Payload *payload, char **ret) {
    uint64_t units;
    const uint8_t *bytes;
    if (!take_number(payload, sizeof(uint32_t), &units) || !take(payload, 2 * units, &bytes))
        return IPC_BAD;
    int r = text_from_utf16le(bytes, units < BOUND_IPC_STRING ? units : BOUND_IPC_STRING, ret);
    return r < 0 ? r : IPC_OK;
}

// Later versions of the runtime append to a reply and never change what stands before: bytes behind
// the last known field are not looked at.
static int parse_process_info(int version, Payload payload, IpcProcessInfo *ret,
                              const char **ret_fault) {
    _cleanup_(ipc_process_info_done) IpcProcessInfo info = {0};
    uint64_t layout;
    const uint8_t *cookie;

    if (version == 3 && (!take_number(&payload, sizeof(uint32_t), &layout) || layout == 0)) {
        *ret_fault = "no version in the reply";
        return IPC_BAD;
    }
    if (!take_number(&payload, sizeof info.pid, &info.pid) ||
        !take(&payload, sizeof info.cookie, &cookie)) {
        *ret_fault = "reply too short for a pid and a cookie";
        return IPC_BAD;
    }
    memcpy(info.cookie, cookie, sizeof info.cookie);

    const struct {
        int since;
        char **string;
    } strings[] = {
        {1, &info.command_line},   {1, &info.operating_system}, {1, &info.architecture},
        {2, &info.entry_assembly}, {2, &info.runtime_version},  {3, &info.portable_rid},
    };
    for (size_t i = 0; i < ELEMENTS_OF(strings) && strings[i].since <= version; i++) {
        int r = take_string(&payload, strings[i].string);
        if (r == IPC_BAD)
            *ret_fault = "a string is longer than the reply";
        if (r != IPC_OK)
            return r;
    }

    *ret = info;
    info = (IpcProcessInfo){0};
    return IPC_OK;
}

static int parse_error(Payload payload, uint32_t *ret_code, const char **ret_fault) {
    uint64_t code;
    if (!take_number(&payload, sizeof(uint32_t), &code)) {
        *ret_fault = "an error reply without a code";
        return IPC_BAD;
    }
    if (code == CODE_UNKNOWN_COMMAND)
        return IPC_UNKNOWN_COMMAND;
    *ret_code = (uint32_t)code;
    return IPC_ERROR_REPLY;
}

// What is wrong with the header as far as it is there, or NULL.
static const char *header_fault(const uint8_t *bytes, size_t size) {
    if (size > 0 && memcmp(bytes, magic, size < sizeof magic ? size : sizeof magic) != 0)
        return "no DOTNET_IPC_V1 in front";
    if (size >= AT_SET && bytes[AT_SIZE + 1] == 0 && bytes[AT_SIZE] < IPC_HEADER_SIZE)
        return "a size smaller than the header";
    if (size > AT_SET && bytes[AT_SET] != SET_SERVER)
        return "not of the command set of replies";
    if (size > AT_COMMAND && bytes[AT_COMMAND] != COMMAND_OK && bytes[AT_COMMAND] != COMMAND_ERROR)
        return "neither a result nor an error";
    return NULL;
}

int ipc_reply_parse(int version, const uint8_t *bytes, size_t size, IpcProcessInfo *ret,
                    size_t *ret_wanted, uint32_t *ret_code, const char **ret_fault) {
    assert(version >= 1 && version <= IPC_VERSION_NEWEST);

    const char *fault = header_fault(bytes, size);
    if (fault) {
        *ret_fault = fault;
        return IPC_BAD;
    }
    size_t whole = IPC_HEADER_SIZE;
    if (size >= IPC_HEADER_SIZE)
        whole = (size_t)(bytes[AT_SIZE] | bytes[AT_SIZE + 1] << 8);
    if (size < whole) {
        *ret_wanted = whole;
        return IPC_MORE;
    }

    Payload payload = {.bytes = bytes + IPC_HEADER_SIZE, .size = whole - IPC_HEADER_SIZE};
    if (bytes[AT_COMMAND] == COMMAND_ERROR)
        return parse_error(payload, ret_code, ret_fault);
    return parse_process_info(version, payload, ret, ret_fault);
}
