# SPDX-License-Identifier: MIT
"""Fake targets, and the daemon that is to be right about them."""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from answers import READY
from lib.child import Child
from lib.daemon import BUILD, Daemon
from lib.require import require_bpf, require_root
from lib.subscription import Process
from lib.varlink import TIMEOUT

FAKE = os.environ.get("FAKE_TARGET", str(BUILD / "tests" / "fake"))
DENY = os.environ.get("DENY", str(BUILD / "tests" / "deny"))


class Fake(Child):
    """One running fake_target.c. What it tells of its sockets is kept until it is asked for."""

    def __init__(self, folder: Path, options: Sequence[str | bytes] = (), **popen: Any):
        super().__init__([FAKE, *options], **popen)
        self.folder = folder
        self.sockets: list[str] = []
        self.asker: int | None = None
        """The one whose connections count; None: whose do not matter."""
        self._told: list[list[str]] = []
        self.own_pid = int(self._result())
        """The pid as the process itself has it."""
        if any(str(option).startswith("--pid") for option in options[:1]):
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
            self.pid = int(children)

    def do(self, *commands: str) -> list[str]:
        """Has it carry out the commands without a look at anything in between."""
        self.send(*commands)
        results = [self._result() for _ in commands]
        failed = [(command[:80], result) for command, result in zip(commands, results)
                  if result[:1] == "E"]
        assert not failed, failed
        return results

    def send(self, *commands: str) -> None:
        """The same, where an answer will be long in coming or none will be."""
        self.process.stdin.write("".join(f"{command}\n" for command in commands).encode())
        self.process.stdin.flush()

    def wait_restart(self) -> None:
        """Returns when it has executed itself."""
        assert int(self._result()) == self.own_pid

    def path(self, name: str | None = None) -> str:
        """Where a socket of this name is bound: by default the one a runtime would give it."""
        return str(self.folder / (name or f"dotnet-diagnostic-{self.own_pid}-{self.key}-socket"))

    @property
    def key(self) -> int:
        """Its start time, field 22 of its stat."""
        return int(Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b")")[2].split()[19])

    def open(self, *answers: str, path: str | None = None) -> list[str]:
        """The commands that bind a socket, say what it answers, and listen."""
        path = path or self.path()
        self.sockets.append(path)
        return [f"bind {path}", f"answer {' '.join(answers or [READY])}", "listen"]

    def begin(self, *answers: str, path: str | None = None) -> "Fake":
        """Does what a starting runtime does."""
        self.do(*self.open(*answers, path=path), "map")
        return self

    def wait_connection(self, socket: int = 0) -> int:
        """How many connections were open when the next one had come."""
        return int(self._next("+", socket)[0])

    def wait_question(self, socket: int = 0) -> bytes:
        """All that came over the next connection that ended."""
        return bytes.fromhex("".join(self._next("-", socket)))

    def told(self) -> list[list[str]]:
        """What it told of the asker's connections that nobody waited for, up to now."""
        self.do("tell")
        return [line for line in self._told if line[2] == str(self.asker)]

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)

    def _next(self, kind: str, socket: int) -> list[str]:
        told = self._told
        while True:
            for line in told:
                if line[:3] == [kind, str(socket), str(self.asker)]:
                    self._told.remove(line)
                    return line[3:]
            told = [self.read_line().split()]
            assert told[0][0] != "=", f"a result that nobody waits for: {told}"
            self._told += told

    def _result(self) -> str:
        while not (line := self.read_line()).startswith("="):
            self._told.append(line.split())
        return line[2:]


class Cast(ExitStack):
    """Fake targets, each with a folder of its own, which end together."""

    def start(self, *options: str | bytes, **popen: Any) -> Fake:
        """A process that has done nothing yet."""
        folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="fake-")))
        folder.chmod(0o1777)  # it may become another user
        return self.enter_context(Fake(folder, options, **popen))

    def begin(self, *answers: str) -> Fake:
        """A process that has done all that a starting runtime does."""
        return self.start().begin(*answers)


class Scene:
    """A daemon, a subscriber that was there from the start, and fake targets.

    Leaving ends the targets and fails where anything of them is left in the daemon, or where it
    does not work any more.
    """

    def __init__(self, *options: str, cast: Cast | None = None, wrapper: Sequence[str] = ()):
        require_root()
        self.cast = cast or Cast()
        self.daemon = Daemon(options, wrapper=wrapper)

    def __enter__(self) -> "Scene":
        self.daemon.__enter__()
        try:
            self.client = self.daemon.client()
            self.subscription = self.daemon.subscribe()
            self.subscription.wait_synced()
            self._idle = self._idle_descriptors()
        except BaseException:
            self.daemon.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, failure: type[BaseException] | None, *rest: Any) -> None:
        try:
            self.cast.close()
            if failure is None:
                self._check_nothing_is_left()
        except BaseException as error:
            failure = type(error)
            raise
        finally:
            self.daemon.__exit__(failure, *rest)

    def start(self, *options: str | bytes, **popen: Any) -> Fake:
        """A process that has done nothing yet."""
        fake = self.cast.start(*options, **popen)
        fake.asker = self.daemon.pid
        return fake

    def begin(self, *answers: str) -> Fake:
        """A process that has done all that a starting runtime does."""
        return self.start().begin(*answers)

    def wait(self, fake: Fake | int, state: str) -> Process:
        """The process as it was first told to be in this state."""
        pid = fake if isinstance(fake, int) else fake.pid
        return self.subscription.wait_state(pid, state)

    def states(self, fake: Fake) -> list[str]:
        """The states it was told to be in, one after another."""
        return self.subscription.states(fake.pid)

    def listed(self, **fields: Any) -> dict[int, Process]:
        """What List says, by pid."""
        processes = self.client.call("List", filter=fields)["processes"]
        return {process["pid"]: process for process in processes}

    def status(self) -> dict[str, Any]:
        """What Status says, its counters by name."""
        status = self.client.call("Status")
        for name in ("counters", "processes"):
            status[name] = {item["name"]: item["value"] for item in status[name]}
        return status

    def wait_counter(self, name: str, value: int) -> None:
        """Returns when a counter that no subscriber is told of has come so far."""
        deadline = time.monotonic() + TIMEOUT
        while (counters := self.status()["counters"])[name] < value:
            assert time.monotonic() < deadline, f"{name} does not come to {value}: {counters}"

    def settle(self) -> None:
        """Returns when all that the kernel has told up to now was taken in.

        Records come in order, so a process that begins now and is told of proves it.
        """
        self.wait(self.begin(), "ready")

    def _check_nothing_is_left(self) -> None:
        deadline = time.monotonic() + TIMEOUT
        while (idle := self._idle_descriptors()) != self._idle and time.monotonic() < deadline:
            pass
        held = [os.readlink(entry) for entry in Path(f"/proc/{self.daemon.pid}/fd").iterdir()]
        assert idle == self._idle, f"{idle - self._idle} descriptors too many: {sorted(held)}"

    def _idle_descriptors(self) -> int:
        """How many it holds beside one for each process, at a moment without an attempt.

        Other tests on this machine have processes too.
        """
        deadline = time.monotonic() + TIMEOUT
        while True:
            before, listed = self.status(), self.listed()
            count = self.daemon.fds() - len(listed)
            counters = before["counters"]
            after = self.status()
            if (counters["attemptsInFlight"] + counters["attemptsWaiting"] == 0
                    and (after["sequence"], after["counters"]) == (before["sequence"], counters)):
                return count
            assert time.monotonic() < deadline, f"attempts do not end: {counters}"


def require_kernel() -> None:
    """For scenes in which the kernel tells of processes that begin."""
    require_root()
    require_bpf()
