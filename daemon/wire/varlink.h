// Varlink messages, https://varlink.org/Wire-Format: a JSON object and a NUL. Used by the server
// and by the client.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"

#define _cleanup_json_ _cleanup_(json_decrefp)

// The size of the first message in `bytes`, its NUL not counted; -EAGAIN while none is complete.
ssize_t varlink_frame(const char *bytes, size_t size);

typedef struct VarlinkCall {
    json_t *message;    // owned
    const char *method; // into message
    json_t *parameters; // borrowed, an object, or NULL where none or null was sent
    bool oneway;
    bool more;
    bool upgrade;
} VarlinkCall;
void varlink_call_done(VarlinkCall *call);

typedef struct VarlinkReply {
    json_t *message;    // owned
    json_t *parameters; // borrowed, may be NULL
    const char *error;  // NULL: none
    bool continues;
} VarlinkReply;
void varlink_reply_done(VarlinkReply *reply);

// Parse one frame (without its NUL). 0, or -EBADMSG with *ret_fault saying what was wrong (a static
// string), or -ENOMEM. Nesting is limited to BOUND_MESSAGE_DEPTH before any JSON is read. A member
// that is null counts as not sent; one that Varlink does not know is refused unless it is an
// extension, an object named in reverse-domain notation.
int varlink_call_parse(const char *bytes, size_t size, VarlinkCall *ret, const char **ret_fault);
int varlink_reply_parse(const char *bytes, size_t size, VarlinkReply *ret, const char **ret_fault);

// Make a frame, its NUL included in *ret_size. `parameters` is borrowed and may be NULL; a reply
// then has empty ones. The caller owns *ret. -ENOMEM.
int varlink_call_format(const char *method, json_t *parameters, bool more, char **ret,
                        size_t *ret_size);
int varlink_reply_format(json_t *parameters, bool continues, char **ret, size_t *ret_size);
int varlink_error_format(const char *error, json_t *parameters, char **ret, size_t *ret_size);
