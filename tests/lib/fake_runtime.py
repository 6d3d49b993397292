#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fake .NET processes, made cheaply and in numbers: fake_runtime.py [ARGUMENT...]

No runtime is in here. Each fake is a fork of this program, whose command line it shares, that does
what a runtime does when its ports are up: it listens on a diagnostic socket, makes the named
mapping, and answers ProcessInfo3. lib.fakes has the other end of the orders that are read here.

It is one file with few imports, since a fake costs what this program touches.
"""

import ctypes
import gc
import json
import os
import signal
import socket
import struct
import sys
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
MAP_PRIVATE = 2
MAP_FAILED = ctypes.c_void_p(-1).value
REQUEST_SIZE = 20
MAGIC = b"DOTNET_IPC_V1\0"

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]


def main() -> None:
    """Carries out orders until there are no more; the fakes die with this process."""
    # A fake that waits for its release finds the signal pending, whenever it came.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    gc.disable()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        match order.pop("do"):
            case "spawn":
                answer = spawn(**order)
            case "release":
                for pid in order["pids"]:
                    os.kill(pid, signal.SIGUSR1)
                answer = order["pids"]
            case "end":
                answer = [end(pid) for pid in order["pids"]]
        print(json.dumps(answer), flush=True)


def spawn(count: int, **options: Any) -> list[int]:
    """Forks so many; returns when each is up."""
    reading, writing = os.pipe()
    pids = [fork(writing, options) for _ in range(count)]
    os.close(writing)
    with open(reading, "rb") as pipe:
        up = pipe.read()
    if len(up) != count:
        raise RuntimeError(f"only {len(up)} of {count} came up")
    return pids


def end(pid: int) -> int:
    """Kills one and waits until it is no more."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return pid


def fork(writing: int, options: dict[str, Any]) -> int:
    """One fake; it writes a byte when it is up."""
    pid = os.fork()
    if pid:
        return pid
    try:
        fake(writing, **options)
    except Exception as error:
        print(f"a fake failed: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)


def fake(writing: int, folder: str, uid: int | None, command: str | None, cgroups: list[str],
         listens: bool, answers: bool, mapping_uid: int | None, **info: str) -> None:
    """Never returns."""
    answer = reply(**info)  # loads what another user may not be able to
    for cgroup in cgroups:
        with open(cgroup, "w", encoding="ascii") as procs:
            procs.write("0")
    if uid is not None:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    if command is not None:
        libc.prctl(PR_SET_NAME, os.fsencode(command), 0, 0, 0)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if listens:
        listener.bind(f"{folder}/dotnet-diagnostic-{os.getpid()}-{start_time()}-socket")
    if mapping_uid is not None:
        os.seteuid(mapping_uid)
    if listens:
        listener.listen(255)
    make_mapping()
    if mapping_uid is not None:
        os.seteuid(0)
    # Only now, since every change of credentials takes it back.
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.write(writing, b"x")
    os.close(writing)
    if not answers:
        signal.sigwait({signal.SIGUSR1})
    while listens:
        connection, _ = listener.accept()
        serve(connection, answer)
    signal.pause()


def start_time() -> str:
    """Field 22 of our own stat."""
    with open("/proc/self/stat", "rb") as stat:
        return stat.read().rpartition(b")")[2].split()[19].decode()


def make_mapping() -> None:
    """As the runtime makes it: a private page nobody may touch, of a memfd with that name."""
    fd = os.memfd_create("dotnet_ipc_created", os.MFD_CLOEXEC)
    if libc.mmap(None, 1, 0, MAP_PRIVATE, fd, 0) == MAP_FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
    os.close(fd)


def serve(connection: socket.socket, answer: bytes) -> None:
    """One question, one answer; whatever the peer does is no concern of a fake."""
    with connection:
        try:
            if connection.recv(REQUEST_SIZE, socket.MSG_WAITALL):
                connection.sendall(answer)
        except OSError:
            pass


def reply(assembly: str, version: str) -> bytes:
    """ProcessInfo3, version 1."""
    cookie = struct.pack("<IHH8x", os.getpid(), 0, 0)
    texts = ("fake", "Linux", "x64", assembly, version, "linux-x64")
    payload = struct.pack("<IQ", 1, os.getpid()) + cookie + b"".join(map(text, texts))
    return MAGIC + struct.pack("<HBBH", REQUEST_SIZE + len(payload), 0xff, 0, 0) + payload


def text(value: str) -> bytes:
    """Length in UTF-16 units with the NUL, then these."""
    data = (value + "\0").encode("utf-16-le", "surrogatepass")
    return struct.pack("<I", len(data) // 2) + data


if __name__ == "__main__":
    main()
