// A diagnostic port played by the test itself, in the same process and event loop as the pool that
// is tested: what it got, and what it answers, connection by connection.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-event.h>

#include "probe.h"

enum {
    FAKE_CONNECTIONS = 8,
    FAKE_RESULTS = 64,
    FAKE_REPLY = 256, // bytes at most
};

// How a connection answers once it has the whole question.
typedef struct FakeReply {
    const uint8_t *bytes;
    size_t size;
    bool torn;   // one byte a turn of the loop
    bool closes; // after the last byte
} FakeReply;

typedef struct FakePort {
    struct Fixture *fixture;
    char path[SOCKET_PATH_SIZE];
    int listener;
    sd_event_source *accepting;
    const FakeReply *replies; // of the first connection, the second, ...; the last one repeats
    size_t replies_count;
    struct FakeConnection {
        struct FakePort *port;
        int fd;
        sd_event_source *io;
        uint8_t request[64];
        size_t request_size;
        size_t sent;
        bool closed; // by the client
    } connections[FAKE_CONNECTIONS];
    size_t connections_count;
} FakePort;

typedef struct Fixture {
    char folder[32];
    sd_event *event;
    ProbePool *pool;
    Input results[FAKE_RESULTS];
    size_t results_count;
    void (*on_result)(struct Fixture *fixture, const Input *input); // NULL: none
    size_t descriptors;                                             // open before
} Fixture;

// cmocka's setup and teardown: a pool of two places; the teardown asserts that no descriptor is
// left.
int fixture_setup(void **state);
int fixture_teardown(void **state);
void fixture_new_pool(Fixture *fixture, size_t attempts);

// "FOLDER/NAME".
void fixture_path(const Fixture *fixture, const char *name, char ret[static SOCKET_PATH_SIZE]);
ProcessKey key_of(pid_t pid);
size_t count_descriptors(void);

// Runs the loop until there are so many results, 5 s at most.
void fixture_wait(Fixture *fixture, size_t results);
// Runs the loop for a turn or two of whatever is there.
void fixture_turn(Fixture *fixture);
// One attempt at this process from beginning to end; its result.
const Input *fixture_probe(Fixture *fixture, pid_t pid, const char *hint);
void assert_detail(const Input *input, const char *part);

int listen_at(const char *path);
int connect_to(const char *path);
// A child that listens at `path` (NULL: nowhere) and never accepts.
pid_t child_listening(const char *path);
void end_child(pid_t pid);

void fake_port_init(Fixture *fixture, FakePort *port, const char *name, const FakeReply *replies,
                    size_t replies_count);
void fake_port_done(FakePort *port);

// Replies of a runtime. The good ones tell cookie 01 02 .. 10, and have "own pid!" where the port
// sends the pid of this process.
extern const FakeReply fake_version3, fake_version2, fake_version1, fake_unknown, fake_failed,
    fake_silent;
