// The runtime serves one connection at a time and reads without a time limit, so a connection is
// made only together with its whole question. It is made through the descriptor of the file that
// was checked, which is short enough for sun_path and cannot be exchanged meanwhile. SO_PEERCRED
// gives the number of the process that called listen(), also once that has ended: it rejects stale
// files, inherited sockets and impostors, and cannot tell a target whose pid an ended listener had
// while somebody else keeps its socket open.
// SPDX-License-Identifier: MIT
#include "connection.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cleanup.h"
#include "ipc.h"
#include "socket_path.h"

static int connect_to(int file, int fd) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", file);
    int r;
    do
        r = connect(fd, (const struct sockaddr *)&address, sizeof address);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

static int not_connected(int error, const char *path, Failure *failure) {
    if (failure_is_ours(error))
        return -error;
    switch (error) {
    case ECONNREFUSED:
        failure_set(failure, OUTCOME_REFUSED, path, error, "nobody listens");
        break;
    case EACCES:
    case EPERM:
        failure_set(failure, OUTCOME_PERMISSION_DENIED, path, error, "connecting is not allowed");
        break;
    case EAGAIN:
        failure_set(failure, OUTCOME_TIMEOUT, path, error, "as many clients wait as it takes");
        break;
    case EPROTOTYPE:
        failure_set(failure, OUTCOME_NO_SOCKET, path, error, "is not a stream socket");
        break;
    default:
        failure_set(failure, OUTCOME_NO_SOCKET, path, error, "connecting failed");
        break;
    }
    return STEP_FAILED;
}

static int check_peer(const Target *target, int fd, const char *path, Failure *failure) {
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    if (peer.pid == target->key.pid)
        return STEP_DONE;
    if (peer.pid > 0)
        failure_set(failure, OUTCOME_NOT_OWNER, path, 0, "is served by pid %d", peer.pid);
    else
        failure_set(failure, OUTCOME_NOT_OWNER, path, 0, "is served from another pid namespace");
    return STEP_FAILED;
}

static int send_question(int fd, const char *path, int version, Failure *failure) {
    uint8_t question[IPC_HEADER_SIZE];
    ipc_request(version, question);
    ssize_t n = send(fd, question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n == (ssize_t)sizeof question)
        return STEP_DONE;
    if (n >= 0)
        failure_set(failure, OUTCOME_PROTOCOL_ERROR, path, 0, "took %zd bytes of ProcessInfo%d", n,
                    version);
    else if (failure_is_ours(errno))
        return -errno;
    else if (errno == EAGAIN)
        failure_set(failure, OUTCOME_TIMEOUT, path, errno, "took nothing of ProcessInfo%d",
                    version);
    else
        failure_set(failure, OUTCOME_PROTOCOL_ERROR, path, errno, "sending ProcessInfo%d failed",
                    version);
    return STEP_FAILED;
}

int connection_ask(const Target *target, const char *path, int version, const atomic_bool *let_go,
                   int *ret, Failure *failure) {
    _cleanup_close_ int file = -1;
    int r = socket_path_open(target, path, &file, failure);
    if (r != STEP_DONE)
        return r;
    if (atomic_load(let_go))
        return -ECANCELED;

    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    r = connect_to(file, fd);
    if (r < 0)
        return not_connected(-r, path, failure);
    r = check_peer(target, fd, path, failure);
    if (r != STEP_DONE)
        return r;
    if (atomic_load(let_go))
        return -ECANCELED;
    r = send_question(fd, path, version, failure);
    if (r == STEP_DONE)
        *ret = TAKE_FD(fd);
    return r;
}
