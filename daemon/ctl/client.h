// One connection to the daemon, blocking, with deadlines.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "cleanup.h"
#include "varlink.h"

typedef struct Client {
    int fd;            // owned, -1 before client_connect()
    int output;        // waiting ends when nobody reads this descriptor any more; -1: none
    const char *path;  // borrowed
    const char *fault; // static; what was wrong with the reply, after CLIENT_BAD
    Buffer input;
} Client;

typedef enum ClientResult {
    CLIENT_OK = 0,
    CLIENT_NOT_RUNNING, // nothing listens on the path
    CLIENT_ENDED,       // the daemon ended the connection
    CLIENT_LATE,        // the deadline passed
    CLIENT_BAD,         // what answered does not speak the protocol
    CLIENT_UNREAD,      // `output` has no reader any more
} ClientResult;

void client_init(Client *client, const char *path);
void client_done(Client *client);
#define _cleanup_client_ _cleanup_(client_done)

// Each returns a ClientResult or a negative errno. Deadlines are CLOCK_BOOTTIME in microseconds,
// USEC_NEVER for none.
int client_connect(Client *client);
int client_send(Client *client, const char *method, json_t *parameters, bool more);
// The next reply, an error reply too, its strings safe to show.
int client_receive(Client *client, uint64_t deadline_us, VarlinkReply *ret);

// The deadline of an answer that the daemon has at hand.
uint64_t client_patience(void);

// Tells standard error what a result other than CLIENT_OK means. The exit status.
int client_explain(const Client *client, int result);
// The same for an error reply.
int client_explain_error(const VarlinkReply *reply);
// A sentence for those who may not see everything, NULL for others.
const char *client_hint_unseen(void);
