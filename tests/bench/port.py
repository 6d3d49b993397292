# SPDX-License-Identifier: MIT
"""The bare client to compare with: told the socket, it asks ProcessInfo and looks at no reply."""

import os
import socket
import struct
import time
from pathlib import Path

from lib.varlink import TIMEOUT
from programs import ENVIRONMENT

HEADER_SIZE = 20
REQUEST = b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", HEADER_SIZE, 4, 8, 0)  # ProcessInfo3
SIZE_OFFSET = 14


def boottime_us() -> float:
    """Now, on the clock of the kernel's records."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1000


def path_of(pid: int) -> str:
    """Where a runtime that has just begun is going to listen."""
    start_time = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    return f"{ENVIRONMENT['TMPDIR']}/dotnet-diagnostic-{pid}-{start_time}-socket"


def exchange(path: str) -> None:
    """One whole exchange: connect, send, receive all of the reply."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        _ask(connection)


def exchange_when_there(path: str) -> None:
    """The same as soon as somebody listens, trying without a pause but letting others run."""
    deadline = time.monotonic() + TIMEOUT
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        while connection.connect_ex(path) != 0:
            assert time.monotonic() < deadline, f"nobody listens at {path}"
            os.sched_yield()
        _ask(connection)


def _ask(connection: socket.socket) -> None:
    connection.sendall(REQUEST)
    reply = connection.recv(65536)
    while (len(reply) < HEADER_SIZE
           or len(reply) < struct.unpack_from("<H", reply, SIZE_OFFSET)[0]):
        more = connection.recv(65536)
        assert more, "the port closed in the middle of its reply"
        reply += more
