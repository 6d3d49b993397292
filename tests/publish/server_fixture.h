// A server, a registry fed by hand and clients, in one process: nothing happens but what a test
// does, and waiting is running the loop until it has nothing left to do.
// SPDX-License-Identifier: MIT
#pragma once

#include "cmocka_all.h"

#include "registry.h"
#include "varlink.h"
#include "varlink_server.h"

#define MANAGER(method) "org.dotnetdiscovery.Manager." method
#define SERVICE(method) "org.varlink.service." method

typedef struct Fixture {
    sd_event *event;
    Registry *registry;
    Actions actions;
    VarlinkServer *server;
    char path[64];
    size_t descriptors; // open before
    uint64_t begun;     // lives so far; each begins a tick after the last

    // What the server asked of the rest of the daemon.
    pid_t checked_pid;
    uint64_t check_token; // 0: none asked for
    uint64_t cancelled_token;
    int check_result;
    bool check_at_once; // answered before check() returns
} Fixture;

int fixture_set_up(void **state);
int fixture_tear_down(void **state);
#define FIXTURE_TEST(function) \
    cmocka_unit_test_setup_teardown(function, fixture_set_up, fixture_tear_down)

// A server with other limits in place of the first.
void fixture_restart(Fixture *fixture, const VarlinkLimits *limits);
// Runs the loop until nothing is left to do.
void fixture_run(Fixture *fixture);
void fixture_check_done(Fixture *fixture, uint64_t token);

// Feed the registry, and tell the server what it wants told.
uint64_t fixture_begin(Fixture *fixture, pid_t pid, uid_t uid);
void fixture_ready(Fixture *fixture, uint64_t serial, Facts *facts);
void fixture_gone(Fixture *fixture, uint64_t serial);
// Facts of this uid whose arguments take so many bytes.
Facts *fixture_facts(uid_t uid, size_t arguments);

// A client. Its connection is accepted before connect returns.
typedef struct Peer {
    Fixture *fixture;
    int fd;
    char *input; // owned
    size_t input_size;
} Peer;
Peer peer_connect(Fixture *fixture);
Peer peer_connect_as(Fixture *fixture, uid_t uid); // needs root
void peer_close(Peer *peer);
#define _cleanup_peer_ _cleanup_(peer_close)

void peer_send(Peer *peer, const void *bytes, size_t size);
// `parameters` is JSON text or NULL.
void peer_call(Peer *peer, const char *method, const char *parameters, bool more);
// The next message; NULL where there is none now.
json_t *peer_poll(Peer *peer);
// The next message; fails the test where none comes.
json_t *peer_receive(Peer *peer);
// The parameters of the next message, which must be a reply that continues or not.
json_t *peer_reply(Peer *peer, bool continues);
void peer_skip_reply(Peer *peer, bool continues);
// The next message must be this error; its parameters as JSON text, NULL for none.
void peer_expect_error(Peer *peer, const char *error, const char *parameters);
// Nothing to be read, connection open.
void peer_expect_silence(Peer *peer);
// Nothing to be read, connection closed.
void peer_expect_end(Peer *peer);
