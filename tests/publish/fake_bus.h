// The other end of the daemon's connection to the bus: what a message bus answers, as a test wants
// it, and the calls of its clients.
// SPDX-License-Identifier: MIT
#pragma once

#include "cmocka_all.h"

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

// A client of the bus, as GetConnectionCredentials tells of it.
typedef struct FakeCaller {
    const char *name; // unique name
    const uint32_t *groups;
    size_t group_count; // 0: not told
    const char *error;  // the answer is this error
    uint32_t uid;       // UINT32_MAX: not told
    bool forged;        // the answer is sent by somebody else than the bus
} FakeCaller;

typedef struct FakeBus {
    sd_event *event; // borrowed
    char path[64];
    char address[96];
    int fd; // listens, -1 while there is no bus
    sd_event_source *listen;
    sd_bus *connection; // the daemon's, NULL while it has none
    unsigned connections;
    const FakeCaller *callers; // those without an entry are root
    size_t caller_count;
    uint32_t name_result; // of RequestName; 0: refused by policy, UINT32_MAX: no answer
    uint32_t name_flags;  // that RequestName had
    bool keeps_questions; // who calls is answered by fake_bus_answer() alone
    sd_bus_message *questions[2048];
    size_t question_count;
    sd_bus_message *messages[65536]; // all that was not for the bus itself, owned
    size_t first, count;
} FakeBus;

// A bus that does not listen yet; it gives the name to whoever asks.
void fake_bus_init(FakeBus *bus, sd_event *event);
void fake_bus_done(FakeBus *bus);
void fake_bus_listen(FakeBus *bus);
// Ends the connection, and takes no other where `ends` is true.
void fake_bus_disconnect(FakeBus *bus, bool ends);
// Reads nothing of what the daemon sends, and goes on.
void fake_bus_pause(FakeBus *bus);
void fake_bus_resume(FakeBus *bus);

// Sends NameAcquired, NameLost.
void fake_bus_name(FakeBus *bus, const char *member);
// Answers the questions kept.
void fake_bus_answer(FakeBus *bus);

// A call of this client to the object; send it with fake_bus_send(), which frees it.
sd_bus_message *fake_bus_call(FakeBus *bus, const char *sender, const char *interface,
                              const char *member);
void fake_bus_send(FakeBus *bus, sd_bus_message *message);

// The next message from the daemon, NULL where there is none; borrowed until fake_bus_done().
sd_bus_message *fake_bus_next(FakeBus *bus);

// A message's body as text: strings quoted, arrays and dictionaries in brackets, variants behind
// their type. The caller owns the result.
char *fake_bus_text(sd_bus_message *message);
