# SPDX-License-Identifier: MIT
"""Clients that are other users. A connection is of whoever connected, whoever uses it later."""

import os
import socket
from collections.abc import Sequence

NOBODY = 65534
GROUP = "dotnet-discovery"  # whose members see every process

# Gives the command behind it another /etc/group, for itself alone.
PRIVATE_GROUPS = 'mount --bind "$0" /etc/group && exec "$@"'


def connect_as(path: str, count: int = 1, *, uid: int = NOBODY, gid: int | None = None,
               groups: Sequence[int] = ()) -> list[socket.socket]:
    """So many connections of this user, made by a child that became it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if not child:
            status = 1
            try:
                os.setgroups(groups)
                os.setgid(uid if gid is None else gid)
                os.setuid(uid)
                for _ in range(count):
                    _connect(path, theirs)
                status = 0
            finally:
                os._exit(status)
        theirs.close()
        connections = []
        while len(connections) < count:
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
            if not descriptors:
                break  # the child has ended
            connections.append(socket.socket(fileno=descriptors[0]))
        _, status = os.waitpid(child, 0)
        assert len(connections) == count, f"the child ended with {status}"
        return connections


def _connect(path: str, receiver: socket.socket) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        socket.send_fds(receiver, [b"x"], [connection.fileno()])
