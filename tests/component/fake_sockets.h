// The sockets of a fake target and what it does on them.
// SPDX-License-Identifier: MIT
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FAKE_SOCKETS = 4, FAKE_CONNECTIONS = 64, FAKE_PEERS = 64 };
enum { FAKE_POLLS = FAKE_SOCKETS + FAKE_CONNECTIONS };

// In the bytes of an answer: the 8 of the fake's own pid are sent in its place. A test cannot know
// it before the fake runs.
#define FAKE_OWN_PID "own pid!"

typedef struct FakePeer {
    pid_t pid;
    size_t accepted; // since the answers were given
} FakePeer;

typedef struct FakeSocket {
    int fd; // -1: closed
    bool listening;
    char *answers; // owned; one for each connection, separated by blanks, the last for all later
    size_t peer_count;
    FakePeer peers[FAKE_PEERS];
} FakeSocket;

typedef struct FakeConnection {
    int fd; // -1: free
    size_t socket;
    pid_t peer;
    size_t number; // how many the peer had before
    bool answered;
    size_t size;
    uint8_t bytes[1024];
} FakeConnection;

typedef struct FakeSockets {
    FakeSocket items[FAKE_SOCKETS];
    size_t count;
    FakeConnection connections[FAKE_CONNECTIONS];
} FakeSockets;

void fake_sockets_init(FakeSockets *sockets);

// Descriptors to poll for, and what to do once that was done.
void fake_sockets_fill(const FakeSockets *sockets, struct pollfd polls[static FAKE_POLLS]);
void fake_sockets_turn(FakeSockets *sockets, const struct pollfd polls[static FAKE_POLLS]);

// 0 or -errno each. All but bind mean the socket bound last. An answer is steps joined by commas:
// bytes in hex, "torn" for those that follow, "close", "wait", "exit". Without "close" the
// connection stays until the other side ends it.
int fake_sockets_bind(FakeSockets *sockets, const char *path);
int fake_sockets_answer(FakeSockets *sockets, const char *answers);
int fake_sockets_listen(FakeSockets *sockets);
int fake_sockets_close(FakeSockets *sockets);

// A socket bound as the runtime does it: the descriptor, or -errno.
int fake_bind(const char *path);
