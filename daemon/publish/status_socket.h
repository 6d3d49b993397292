// The listening end of the status socket: passed by systemd or made here.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

// The socket that systemd passed, or -ENOENT. More than one, or one that is no listening Unix
// stream socket: -EINVAL.
int status_socket_passed(void);

// Binds and listens at `path`, mode 0666 (who sees what is decided per uid), its directory made
// where missing. A socket file that refuses connections is a dead daemon's and is replaced. Returns
// the descriptor; -EADDRINUSE: a live one, whose owner's pid is in *ret_owner (0: unknown);
// -EEXIST: the path is something else, which is left alone.
int status_socket_open(const char *path, pid_t *ret_owner);

// Removes the path that status_socket_open() made, if it still is that socket.
void status_socket_remove(const char *path, int fd);
