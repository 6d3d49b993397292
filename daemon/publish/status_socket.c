// A daemon puts its socket into place only once it listens, so that a socket file which refuses is
// a dead daemon's whenever it is looked at, also by another daemon that starts at the same moment.
// A dead one is only replaced under a claim: a second name of the newcomer's own socket, which but
// one can hold, and which refuses in its turn should its holder die.
// SPDX-License-Identifier: MIT
#include "status_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "cleanup.h"

int status_socket_passed(void) {
    int count = sd_listen_fds(1);
    if (count < 0)
        return count;
    if (count == 0)
        return -ENOENT;
    if (count > 1 || sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_STREAM, 1, NULL, 0) <= 0)
        return -EINVAL;
    return SD_LISTEN_FDS_START;
}

static int make_address(const char *path, struct sockaddr_un *ret) {
    if (strlen(path) >= sizeof ret->sun_path)
        return -ENAMETOOLONG;
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path, path, strlen(path));
    return 0;
}

// Is somebody listening at the path? -EADDRINUSE: yes, *ret_owner is who called listen(), 0 where
// that is unknown. 0: nobody is. -ENOENT: there is no such path, -EEXIST: it is no socket of ours.
static int find_owner(const char *path, pid_t *ret_owner) {
    struct sockaddr_un address;
    int r = make_address(path, &address);
    if (r < 0)
        return r;
    struct stat st;
    if (lstat(path, &st) < 0)
        return -errno;
    // To connect() a file that is no socket looks like a dead one.
    if (!S_ISSOCK(st.st_mode))
        return -EEXIST;

    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        if (errno == ECONNREFUSED)
            return 0;
        if (errno == EPROTOTYPE)
            return -EEXIST;
        if (errno != EAGAIN) // its backlog is full: alive, and busy
            return -errno;
        *ret_owner = 0;
        return -EADDRINUSE;
    }
    struct ucred owner;
    socklen_t size = sizeof owner;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0;
    *ret_owner = known ? owner.pid : 0;
    return -EADDRINUSE;
}

// Open to everybody like the socket, whatever the umask.
static int make_directory(const char *path) {
    _cleanup_free_ char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    const char *directory = dirname(copy);
    if (mkdir(directory, 0755) < 0)
        return errno == EEXIST ? 0 : -errno;
    return chmod(directory, 0755) < 0 ? -errno : 0;
}

// A listening socket under a name that nobody knows yet, beside the path.
static int listen_aside(const char *path, struct sockaddr_un *ret_address) {
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    uint32_t salt = 0;
    if (getrandom(&salt, sizeof salt, GRND_NONBLOCK) < 0)
        return -errno;
    _cleanup_free_ char *aside = NULL;
    if (asprintf(&aside, "%s.%08x", path, salt) < 0) {
        aside = NULL;
        return -ENOMEM;
    }
    struct sockaddr_un address;
    int r = make_address(aside, &address);
    if (r < 0)
        return r;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return -errno;
    if (chmod(aside, 0666) < 0 || listen(fd, SOMAXCONN) < 0) {
        r = -errno;
        unlink(aside);
        return r;
    }
    *ret_address = address;
    return TAKE_FD(fd);
}

static int link_new(const char *aside, const char *path) {
    return link(aside, path) < 0 ? -errno : 0;
}

// Only a claim that refuses is removed: one that vanished may be another's by now.
static int claim(const char *aside, const char *name, pid_t *ret_owner) {
    enum { TRIES = 8 };
    for (int i = 0; i < TRIES; i++) {
        int r = link_new(aside, name);
        if (r != -EEXIST)
            return r;
        r = find_owner(name, ret_owner);
        if (r == 0)
            unlink(name);
        else if (r != -ENOENT)
            return r;
    }
    *ret_owner = 0;
    return -EADDRINUSE;
}

static int replace(const char *aside, const char *path, pid_t *ret_owner) {
    _cleanup_free_ char *name = NULL;
    if (asprintf(&name, "%s.next", path) < 0) {
        name = NULL;
        return -ENOMEM;
    }
    int r = claim(aside, name, ret_owner);
    if (r < 0)
        return r;
    // Another may have had the claim before.
    r = find_owner(path, ret_owner);
    if (r == 0)
        r = rename(aside, path) < 0 ? -errno : 0;
    else if (r == -ENOENT)
        r = link_new(aside, path);
    unlink(name);
    return r;
}

static int put_in_place(const char *aside, const char *path, pid_t *ret_owner) {
    int r = link_new(aside, path);
    return r == -EEXIST ? replace(aside, path, ret_owner) : r;
}

int status_socket_open(const char *path, pid_t *ret_owner) {
    int r = make_directory(path);
    if (r < 0)
        return r;
    // Before anything is made: what is alive, or no socket, is left alone.
    pid_t owner = 0;
    r = find_owner(path, &owner);
    if (r >= 0 || r == -ENOENT) {
        struct sockaddr_un aside;
        _cleanup_close_ int fd = listen_aside(path, &aside);
        if (fd < 0)
            return fd;
        r = put_in_place(aside.sun_path, path, &owner);
        unlink(aside.sun_path);
        if (r >= 0)
            return TAKE_FD(fd);
    }
    if (r == -EADDRINUSE)
        *ret_owner = owner;
    return r;
}

void status_socket_remove(const char *path, int fd) {
    // Ours refuses from here on; one that does not is another's.
    shutdown(fd, SHUT_RDWR);
    pid_t owner;
    if (find_owner(path, &owner) == 0)
        unlink(path);
}
