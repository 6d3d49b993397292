# SPDX-License-Identifier: MIT
"""The real daemon and the real client program, started as a service manager and a user would."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import SkipTest

from lib.child import Child, readable
from lib.subscription import Subscription
from lib.varlink import INTERFACE, TIMEOUT, Client

BUILD = Path(__file__).resolve().parents[2] / "build"
DISCOVERYD = os.environ.get("DISCOVERYD", str(BUILD / "dotnet-discoveryd"))
DISCOVERYCTL = os.environ.get("DISCOVERYCTL", str(BUILD / "dotnet-discoveryctl"))

SANITIZER_REPORT = re.compile(r"(Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error:")


class Daemon:
    """A daemon of its own for one test, on a socket of its own.

    Entering waits until it says that it is ready. Leaving stops it and fails where it did not end
    well: its exit status, a sanitizer's report, or a subscriber that was told nonsense. A wrapper
    is a command that executes the one behind it, such as prlimit.
    """

    def __init__(self, options: Sequence[str] = (), socket: str | None = None,
                 env: dict[str, str] | None = None, wrapper: Sequence[str] = (),
                 pass_fds: Sequence[int] = ()):
        self.folder = Path(tempfile.mkdtemp(prefix="discovery-"))
        self.folder.chmod(0o755)  # a test's client may be another user
        self.socket = socket or str(self.folder / INTERFACE)
        self.notifications: list[str] = []
        self._argv = [*wrapper, DISCOVERYD, f"--socket={self.socket}", *options]
        self._env = os.environ | (env or {})
        self._pass_fds = pass_fds
        self._connections: list[Client | Subscription] = []
        self._child: Child | None = None

    def __enter__(self) -> "Daemon":
        try:
            self.start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        try:
            if failure is None:
                self.stop()
        except BaseException:
            failure = AssertionError
            raise
        finally:
            if failure and not issubclass(failure, SkipTest):
                print(f"--- what the daemon wrote:\n{self.stderr}---", file=sys.stderr)
            for connection in self._connections:
                connection.close()
            if self._child:
                self._child.__exit__()
            shutil.rmtree(self.folder)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def stderr(self) -> str:
        """What it has written up to now."""
        path = self.folder / "stderr"
        return path.read_text(errors="backslashreplace") if path.exists() else ""

    def start(self) -> None:
        """Starts it and waits for READY=1."""
        with (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify,
              (self.folder / "stderr").open("w") as stderr):
            path = str(self.folder / "notify")
            notify.bind(path)
            self._child = Child(self._argv, env=self._env | {"NOTIFY_SOCKET": path},
                                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
                                pass_fds=self._pass_fds)
            deadline = time.monotonic() + TIMEOUT
            while "READY=1" not in self.notifications:
                ready = readable([notify, self._child.pidfd], deadline - time.monotonic())
                if notify.fileno() in ready:
                    self.notifications += notify.recv(4096).decode().splitlines()
                elif ready:
                    raise AssertionError(f"the daemon ended with {self._child.wait()}")
                else:
                    raise TimeoutError(f"not ready within {TIMEOUT} s: {self.notifications}")

    def stop(self) -> None:
        """Stops it as a service manager does, its clients still connected."""
        self._child.kill(signal.SIGTERM)
        status = self._child.wait()
        assert status == 0, f"the daemon ended with {status}"
        assert not SANITIZER_REPORT.search(self.stderr), "a sanitizer reports"
        for connection in self._connections:
            if isinstance(connection, Subscription):
                connection.close()
                connection.check()

    def fds(self) -> int:
        """How many descriptors it holds open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def client(self) -> Client:
        """A new connection, closed with the daemon."""
        return self._keep(Client(self.socket))

    def call(self, method: str, /, **parameters: Any) -> dict[str, Any]:
        """One call on a connection of its own."""
        with Client(self.socket) as client:
            return client.call(method, **parameters)

    def subscribe(self, **fields: Any) -> Subscription:
        """A new subscriber, with a filter of these fields, closed and checked with the daemon."""
        parameters = {"filter": fields} if fields else {}
        return self._keep(Subscription(self.socket, parameters))

    def ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The client program, asking this daemon."""
        return ctl(f"--socket={self.socket}", *arguments)

    def _keep(self, connection: Any) -> Any:
        self._connections.append(connection)
        return connection


def ctl(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the client program to its end."""
    return subprocess.run([DISCOVERYCTL, *arguments], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=TIMEOUT, check=False)
