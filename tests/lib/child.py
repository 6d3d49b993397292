# SPDX-License-Identifier: MIT
"""A child process whose every wait has a deadline."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from lib.varlink import TIMEOUT


def readable(files: Sequence[Any], timeout: float) -> set[int]:
    """The descriptors of those files which have something to read, or their end, by then."""
    poll = select.poll()  # select() takes no descriptor above 1023
    for file in files:
        poll.register(file, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(max(timeout, 0) * 1000)}


class Child:
    """A running program; leaving the context kills what is left of it.

    Its standard input is a pipe, so that a program which waits for its end also ends with us.
    subprocess.wait() polls when it is given a timeout; a pidfd waits.
    """

    def __init__(self, argv: Sequence[str], **options: Any):
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE} | options
        self.argv = list(argv)
        self.process = subprocess.Popen(self.argv, **options)
        self.pid = self.process.pid
        self.pidfd = os.pidfd_open(self.pid)
        self._buffer = b""

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        if self.pidfd < 0:
            return  # left before
        if self.process.poll() is None:
            self.process.kill()
            self.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()
        os.close(self.pidfd)
        self.pidfd = -1

    def read_line(self, timeout: float = TIMEOUT) -> str:
        """The next line of its standard output, without the line's end."""
        stdout = self.process.stdout.fileno()
        deadline = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            if not self.has_output(deadline - time.monotonic()):
                raise TimeoutError(f"no line from {self.argv} within {timeout} s")
            data = os.read(stdout, 4096)
            if not data:
                raise EOFError(f"{self.argv} ended its output")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode()

    def has_output(self, timeout: float = 0) -> bool:
        """Whether something, or the end, can be read of its standard output by then."""
        return bool(readable([self.process.stdout], timeout))

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal; does not wait."""
        self.process.send_signal(number)

    def wait(self, timeout: float = TIMEOUT) -> int:
        """Its exit status; a negative one is the signal that ended it."""
        if not readable([self.pidfd], timeout):
            raise TimeoutError(f"{self.argv} still runs after {timeout} s")
        return self.process.wait()

    def finish(self) -> int:
        """Ends its standard input, which a sample takes as the word to leave, and waits."""
        self.process.stdin.close()
        return self.wait()
