#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A process that looks like a runtime, and starts a real one: launcher.py PROGRAM [ARGUMENT...]

It listens on a diagnostic socket in TMPDIR, has the named mapping and answers. "up" tells that it
does. Then it obeys one line of its standard input, which is the program's afterwards:

    fork    a child, whose pid it tells, holds all that is open here; with the next line it executes
            the program
    exec    executes the program in its own place, as a runtime that leaves its socket's file behind
    anew    the same without the file
"""

import os
import select
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import fake_runtime


def main(program: list[str]) -> None:
    """Serves until it becomes another program, or is killed."""
    answer = fake_runtime.reply("Launcher", "10.0.5")
    path = (f"{os.environ['TMPDIR']}/dotnet-diagnostic-{os.getpid()}-"
            f"{fake_runtime.start_time()}-socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(255)
    fake_runtime.make_mapping()
    print("up", flush=True)
    orders: list[int] = [sys.stdin.fileno()]
    while True:
        ready, _, _ = select.select([listener, *orders], [], [])
        if listener in ready:
            fake_runtime.serve(listener.accept()[0], answer)
            continue
        order = read_line()
        if order == "fork":
            fork(listener, program)
            orders = []
            continue
        if order == "anew":
            os.unlink(path)
        os.execv(program[0], program)


def fork(listener: socket.socket, program: list[str]) -> None:
    """The child keeps the socket across its execve, which a runtime would not."""
    child = os.fork()
    if child:
        print(child, flush=True)
        return
    listener.set_inheritable(True)
    read_line()
    os.execv(program[0], program)


def read_line() -> str:
    """Byte by byte: what follows is for another program."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            sys.exit()
        line += byte
    return line.decode().strip()


if __name__ == "__main__":
    main(sys.argv[1:])
