# SPDX-License-Identifier: MIT
"""The places that printed programs name: the daemon's socket and the system bus, below /run.

They are made in the namespaces that apart.py gives a test, so that what runs on the machine is
neither asked nor disturbed.
"""

import os
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from lib.child import Child
from lib.daemon import Daemon
from lib.fakes import Fakes
from lib.require import require, require_bpf, require_root
from lib.varlink import INTERFACE

SOCKET = Path("/run/dotnet-discoveryd") / INTERFACE


class Stage(unittest.TestCase):
    """A socket that outlives the daemon, as a socket unit's does, and a folder for programs."""

    @classmethod
    def setUpClass(cls) -> None:
        require_root()
        require_bpf()
        require(os.getpid() == 1, "needs namespaces of its own: run it by tests/lib/apart.py")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"], check=True)
        SOCKET.parent.mkdir()
        cls.listener = cls.enterClassContext(socket.socket(socket.AF_UNIX))
        cls.listener.bind(str(SOCKET))
        cls.listener.listen(128)

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        self.fakes = self.enterContext(Fakes())

    def daemon(self, *options: str) -> Daemon:
        """A daemon that serves the socket, once it is entered."""
        fd = self.listener.fileno()
        activate = f'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3<&{fd}'
        return Daemon(options, socket=str(SOCKET), wrapper=["sh", "-c", activate, "sh"],
                      pass_fds=[fd])

    def start(self, *argv: str, **options: Any) -> Child:
        """A program, in the folder."""
        return self.enterContext(Child(argv, cwd=self.folder, **options))


class Watch:
    """What every program does that prints a line when a process becomes ready."""

    def watch(self) -> Child:
        """Starts it."""
        raise NotImplementedError

    def line(self, pid: int) -> str:
        """What it prints of a fake process."""
        return f"{pid} {self.fakes.assembly} 10.0.5"

    def ready(self) -> int:
        """A new process that is ready."""
        pid = self.fakes.spawn_one()
        self.subscription.wait_state(pid, "ready")
        return pid

    def test_prints_those_that_are_ready_and_those_that_become_so(self) -> None:
        with self.daemon() as daemon:
            self.subscription = daemon.subscribe()
            before = {self.line(self.ready()) for _ in range(3)}
            silent = self.fakes.spawn_one(answers=False)
            self.subscription.wait_state(silent, "detected")
            program = self.watch()
            self.assertEqual({program.read_line() for _ in before}, before)
            for _ in range(3):
                pid = self.ready()
                self.assertEqual(program.read_line(), self.line(pid))
                self.fakes.end(pid)
            self.fakes.release(silent)
            self.assertEqual(program.read_line(), self.line(silent))

    def test_goes_on_after_a_restart_of_the_daemon_and_prints_nothing_twice(self) -> None:
        with self.daemon() as daemon:
            self.subscription = daemon.subscribe()
            stays, leaves = self.ready(), self.ready()
            program = self.watch()
            self.assertEqual({program.read_line(), program.read_line()},
                             {self.line(stays), self.line(leaves)})
        self.fakes.end(leaves)
        meanwhile = self.fakes.spawn_one()
        with self.daemon() as daemon:
            self.subscription = daemon.subscribe()
            self.assertEqual(program.read_line(), self.line(meanwhile))
            later = self.ready()
            self.assertEqual(program.read_line(), self.line(later))
