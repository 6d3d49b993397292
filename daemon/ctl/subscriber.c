// Upgrades restart the daemon, and its socket unit keeps callers waiting meanwhile: calling again
// is all that it takes not to miss what comes next. One that ends again and again, as soon as it
// has answered or sooner, is given up: it would be called without a pause, and without end.
// SPDX-License-Identifier: MIT
#include "subscriber.h"

#include <unistd.h>

#include "discovery_names.h"
#include "instant.h"

enum { FRUITLESS_MAXIMUM = 3 };

#define FRUITFUL_US USEC_PER_SEC // that a connection lasts, at least

void subscriber_init(Subscriber *subscriber, const char *path, json_t *parameters) {
    *subscriber = (Subscriber){.parameters = parameters};
    client_init(&subscriber->client, path);
    subscriber->client.output = STDOUT_FILENO;
}

void subscriber_done(Subscriber *subscriber) {
    client_done(&subscriber->client);
}

int subscriber_open(Subscriber *subscriber) {
    subscriber->opened_us = instant_now().boottime_us;
    subscriber->answered = false;
    int r = client_connect(&subscriber->client);
    if (r != CLIENT_OK)
        return r;
    return client_send(&subscriber->client, DISCOVERY_INTERFACE ".Subscribe",
                       subscriber->parameters, true);
}

int subscriber_receive(Subscriber *subscriber, uint64_t deadline_us, VarlinkReply *ret) {
    int r = client_receive(&subscriber->client, deadline_us, ret);
    if (r == CLIENT_OK)
        subscriber->answered = true;
    return r;
}

int subscriber_open_again(Subscriber *subscriber) {
    uint64_t lasted_us = instant_now().boottime_us - subscriber->opened_us;
    if (subscriber->answered && lasted_us >= FRUITFUL_US)
        subscriber->fruitless = 0;
    if (++subscriber->fruitless > FRUITLESS_MAXIMUM)
        return CLIENT_ENDED;
    const char *path = subscriber->client.path;
    int output = subscriber->client.output;
    client_done(&subscriber->client);
    client_init(&subscriber->client, path);
    subscriber->client.output = output;
    return subscriber_open(subscriber);
}
