# SPDX-License-Identifier: MIT
"""The measuring program, tests/bench/*.c, and the figures that it prints."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lib.child import Child, readable
from lib.daemon import BUILD, Daemon

METER = os.environ.get("METER", str(BUILD / "tests" / "meter"))
ORDER = 600  # seconds that one order may take
LOOK = 0.05  # seconds between two looks

Numbers = list[float]


class Meter(Child):
    """One of its commands, running until the context is left."""

    def __init__(self, command: str, *arguments: object, **options: Any):
        super().__init__([METER, command, *map(str, arguments)], **options)

    def numbers(self, timeout: float = ORDER) -> Numbers:
        """The next line it prints."""
        return [float(word) for word in self.read_line(timeout).split()]

    def order(self, *words: object) -> str:
        """Has it carry out an order; its answer."""
        self.send(*words)
        return self.read_line(ORDER)

    def send(self, *words: object) -> None:
        """Gives an order and waits for nothing."""
        self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self.process.stdin.flush()

    def measure(self, *words: object) -> Numbers:
        """An order that is answered by numbers."""
        return [float(word) for word in self.order(*words).split()]


class Herd(Meter):
    """Fake processes, of .NET and others."""

    def __init__(self, folder: Path):
        self.folder = folder
        super().__init__("fakes", folder)

    def spawn(self, count: int, every: int = 1, mappings: int = 0, descriptors: int = 0,
              threads: int = 1) -> None:
        """So many; every so many-th is one of .NET, none where that is 0."""
        if count:
            assert self.order("spawn", count, every, mappings, descriptors, threads) == "ok"

    def end(self) -> None:
        """Of all of them; their sockets go too."""
        assert self.order("end") == "ok"
        for path in self.folder.iterdir():
            path.unlink()

    def one(self) -> int:
        """One of .NET that has not begun; its pid."""
        return int(self.order("one"))

    def go(self) -> Numbers:
        """Lets it begin; when it was about to listen and to map."""
        return self.measure("go")


@contextmanager
def rival(command: str, *arguments: object) -> Iterator[Meter]:
    """Something to compare with, for as long as the context."""
    with Meter(command, *arguments) as meter:
        assert meter.read_line() == "ready"
        yield meter
        meter.finish()


def cpu_us(pid: int) -> float:
    """What a process has had of the processors, all of its threads."""
    total = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0]) / 1000
    return total


def counter(daemon: Daemon, name: str) -> int:
    """A counter of its Status."""
    return next(entry["value"] for entry in daemon.call("Status")["counters"]
                if entry["name"] == name)


def pass_time(daemon: Daemon, seconds: float) -> None:
    """Lets time pass, where that is what is measured; fails where the daemon ends meanwhile."""
    pidfd = os.pidfd_open(daemon.pid)
    try:
        assert not readable([pidfd], seconds), "the daemon ended"
    finally:
        os.close(pidfd)


def await_descriptors(daemon: Daemon, most: int) -> None:
    """Returns when it holds no more than these: what has ended is forgotten by then. Looks from
    outside, so that the daemon does nothing for it."""
    deadline = time.monotonic() + ORDER
    while daemon.fds() > most:
        assert time.monotonic() < deadline, f"it still holds {daemon.fds()}"
        pass_time(daemon, LOOK)
