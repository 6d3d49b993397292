# SPDX-License-Identifier: MIT
"""The guest's own system bus, and the daemon on it, through the programs that people have."""

import re
import time
from typing import NamedTuple

import guest
from lib.bus import MANAGER, NAME, PATH, ROOT, Bus, BusError
from lib.child import Child
from lib.varlink import TIMEOUT

UNIT = "dbus.service"
SOCKET = "dbus.socket"
SIGNAL = re.compile(rf"{PATH}: {re.escape(MANAGER)}\.ProcessChanged \(uint64 (\d+), '(.*?)', "
                    r"uint32 (\d+), uint64 (\d+), '(\w*)', '(\w*)', '(\w*)'\)")


class SystemBus(Bus):
    """The bus that systemd has started. Its users are those of the guest."""

    def __init__(self) -> None:  # there is none to make
        self.env = {}

    def run(self, *argv: str, user: str = ROOT) -> str:
        result = guest.run(*argv, user=user, check=False)
        if result.returncode != 0:
            raise BusError(result.stderr.strip())
        return result.stdout

    def processes(self, user: str = ROOT) -> set[int]:
        """The pids that the daemon lists for this user."""
        _, processes = self.call("ListProcesses", "a{sv}", "0", user=user)
        return {process["Pid"] for process in processes}

    def status(self, user: str = ROOT) -> dict[str, dict[str, int]]:
        """What the daemon says of itself."""
        return self.call("GetStatus", user=user)[0]


BUS = SystemBus()


class Signal(NamedTuple):
    """One ProcessChanged."""

    sequence: int
    id: str
    pid: int
    start_time: int
    state: str
    previous_state: str
    reason: str

    @classmethod
    def shown(cls, line: str) -> "Signal | None":
        """That which a line of gdbus shows."""
        found = SIGNAL.fullmatch(line)
        if not found:
            return None
        sequence, identity, pid, start_time, *states = found.groups()
        return cls(int(sequence), identity, int(pid), int(start_time), *states)


class Monitor:
    """gdbus monitor: a usual receiver of the daemon's signals, who is told of its name, too.

    It ends with its connection to the bus.
    """

    def __init__(self, user: str = ROOT):
        self.signals: list[Signal] = []
        self._child: Child = guest.spawn("gdbus", "monitor", "--system", "--dest", NAME, user=user)

    def __enter__(self) -> "Monitor":
        # It asks who has the name behind its subscription to the signals.
        self.wait_owner()
        return self

    def __exit__(self, *failure: object) -> None:
        self._child.__exit__(*failure)

    def wait_owner(self) -> None:
        """Returns when it has been told, after what it told before, that somebody has the name."""
        self._wait_line(rf"The name {re.escape(NAME)} is owned by \S+")

    def wait_no_owner(self) -> None:
        """Returns when it has been told that nobody has it."""
        self._wait_line(rf"The name {re.escape(NAME)} does not have an owner")

    def wait_signal(self, pid: int, state: str) -> Signal:
        """The signal of this process in this state, whether it came already or not."""
        deadline = time.monotonic() + TIMEOUT
        seen = 0
        while True:
            for signal in self.signals[seen:]:
                if (signal.pid, signal.state) == (pid, state):
                    return signal
            seen = len(self.signals)
            self._read(deadline)

    def _wait_line(self, pattern: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not re.fullmatch(pattern, self._read(deadline)):
            pass

    def _read(self, deadline: float) -> str:
        line = self._child.read_line(deadline - time.monotonic())
        if signal := Signal.shown(line):
            self.signals.append(signal)
        return line
