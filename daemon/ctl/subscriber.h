// A call of Subscribe that outlives the daemon which answers it.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "client.h"

typedef struct Subscriber {
    Client client;
    json_t *parameters; // borrowed
    uint64_t opened_us; // CLOCK_BOOTTIME
    bool answered;      // this connection has brought a reply
    unsigned fruitless; // connections that ended without a reply or at once, one after another
} Subscriber;

void subscriber_init(Subscriber *subscriber, const char *path, json_t *parameters);
void subscriber_done(Subscriber *subscriber);
#define _cleanup_subscriber_ _cleanup_(subscriber_done)

// Each returns what the functions of client.h return.
int subscriber_open(Subscriber *subscriber);
int subscriber_receive(Subscriber *subscriber, uint64_t deadline_us, VarlinkReply *ret);

// After CLIENT_ENDED: calls again, and what comes is a new snapshot. Waits for no daemon: where a
// service manager holds the socket it takes the call, where nobody does it is CLIENT_NOT_RUNNING.
// CLIENT_ENDED where one daemon after another ended the connection without a word, or within a
// second.
int subscriber_open_again(Subscriber *subscriber);
