// Connections are told apart by the pid of whoever made them, since more than one daemon may run on
// a machine that tests: each has its own turn of the answers.
// SPDX-License-Identifier: MIT
#include "fake_sockets.h"

#include <endian.h>
#include <errno.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { QUESTION = 20 };

void fake_sockets_init(FakeSockets *sockets) {
    *sockets = (FakeSockets){0};
    for (size_t i = 0; i < FAKE_CONNECTIONS; i++)
        sockets->connections[i].fd = -1;
}

int fake_bind(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, length);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (fchmod(fd, 0600) < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

static FakeSocket *last(FakeSockets *sockets) {
    return &sockets->items[sockets->count - 1];
}

int fake_sockets_bind(FakeSockets *sockets, const char *path) {
    if (sockets->count == FAKE_SOCKETS)
        return -ENOBUFS;
    int fd = fake_bind(path);
    if (fd < 0)
        return fd;
    sockets->items[sockets->count++] = (FakeSocket){.fd = fd};
    return 0;
}

int fake_sockets_answer(FakeSockets *sockets, const char *answers) {
    FakeSocket *socket = last(sockets);
    free(socket->answers);
    socket->answers = strdup(answers);
    socket->peer_count = 0;
    return socket->answers ? 0 : -ENOMEM;
}

int fake_sockets_listen(FakeSockets *sockets) {
    if (listen(last(sockets)->fd, 255) < 0)
        return -errno;
    last(sockets)->listening = true;
    return 0;
}

int fake_sockets_close(FakeSockets *sockets) {
    close(last(sockets)->fd);
    last(sockets)->fd = -1;
    last(sockets)->listening = false;
    return 0;
}

// Where the test left a place for it.
static void fill_in_own_pid(uint8_t *bytes, size_t size) {
    uint8_t *place = memmem(bytes, size, FAKE_OWN_PID, sizeof FAKE_OWN_PID - 1);
    uint64_t pid = htole64((uint64_t)getpid());
    if (place)
        memcpy(place, &pid, sizeof pid);
}

// Sends bytes given in hex. Torn: one at a time, each only when the last one was taken.
static void send_hex(int fd, const char *hex, size_t length, bool torn) {
    size_t size = length / 2;
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        abort();
    for (size_t i = 0; i < size; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1]};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    fill_in_own_pid(bytes, size);
    size_t step = torn ? 1 : size;
    for (size_t sent = 0; sent < size; sent += step) {
        if (send(fd, bytes + sent, step, MSG_NOSIGNAL) != (ssize_t)step)
            break;
        for (int left = torn; left > 0 && ioctl(fd, SIOCOUTQ, &left) == 0;)
            sched_yield();
    }
    free(bytes);
}

static void end(FakeConnection *connection) {
    printf("- %zu %d ", connection->socket, connection->peer);
    for (size_t i = 0; i < connection->size; i++)
        printf("%02x", connection->bytes[i]);
    putchar('\n');
    close(connection->fd);
    connection->fd = -1;
}

static void answer(FakeSockets *sockets, FakeConnection *connection) {
    const char *script = sockets->items[connection->socket].answers;
    connection->answered = true;
    if (!script)
        return;
    for (size_t i = 0; i < connection->number && strchr(script, ' '); i++)
        script = strchr(script, ' ') + 1;

    bool torn = false;
    for (size_t length; (length = strcspn(script, ", ")) > 0;) {
        if (strncmp(script, "torn", length) == 0) {
            torn = true;
        } else if (strncmp(script, "close", length) == 0) {
            end(connection);
            return;
        } else if (strncmp(script, "wait", length) == 0) {
            return;
        } else if (strncmp(script, "exit", length) == 0) {
            _exit(0);
        } else {
            send_hex(connection->fd, script, length, torn);
        }
        if (script[length] != ',')
            return;
        script += length + 1;
    }
}

static void receive(FakeSockets *sockets, FakeConnection *connection) {
    ssize_t n = recv(connection->fd, connection->bytes + connection->size,
                     sizeof connection->bytes - connection->size, 0);
    if (n <= 0) {
        end(connection);
        return;
    }
    connection->size += (size_t)n;
    if (connection->size >= QUESTION && !connection->answered)
        answer(sockets, connection);
}

static FakePeer *peer_of(FakeSocket *socket, pid_t pid) {
    for (size_t i = 0; i < socket->peer_count; i++)
        if (socket->peers[i].pid == pid)
            return &socket->peers[i];
    if (socket->peer_count == FAKE_PEERS)
        abort();
    socket->peers[socket->peer_count] = (FakePeer){.pid = pid};
    return &socket->peers[socket->peer_count++];
}

static void welcome(FakeSockets *sockets, size_t socket) {
    int fd = accept4(sockets->items[socket].fd, NULL, NULL, SOCK_CLOEXEC);
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        abort();

    FakeConnection *place = NULL;
    size_t open = 1;
    for (size_t i = 0; i < FAKE_CONNECTIONS; i++) {
        if (sockets->connections[i].fd < 0)
            place = &sockets->connections[i];
        else if (sockets->connections[i].peer == credentials.pid)
            open++;
    }
    if (!place)
        abort();
    printf("+ %zu %d %zu\n", socket, credentials.pid, open);
    *place = (FakeConnection){
        .fd = fd,
        .socket = socket,
        .peer = credentials.pid,
        .number = peer_of(&sockets->items[socket], credentials.pid)->accepted++,
    };
}

void fake_sockets_fill(const FakeSockets *sockets, struct pollfd polls[static FAKE_POLLS]) {
    for (size_t i = 0; i < FAKE_SOCKETS; i++) {
        bool listening = i < sockets->count && sockets->items[i].listening;
        polls[i] = (struct pollfd){.fd = listening ? sockets->items[i].fd : -1, .events = POLLIN};
    }
    for (size_t i = 0; i < FAKE_CONNECTIONS; i++)
        polls[FAKE_SOCKETS + i] =
            (struct pollfd){.fd = sockets->connections[i].fd, .events = POLLIN};
}

void fake_sockets_turn(FakeSockets *sockets, const struct pollfd polls[static FAKE_POLLS]) {
    // Ends of connections before new ones: what one peer does one after the other is told so.
    for (size_t i = 0; i < FAKE_CONNECTIONS; i++)
        if (polls[FAKE_SOCKETS + i].revents)
            receive(sockets, &sockets->connections[i]);
    for (size_t i = 0; i < FAKE_SOCKETS; i++)
        if (polls[i].revents)
            welcome(sockets, i);
}
