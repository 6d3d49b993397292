# SPDX-License-Identifier: MIT
"""What a scenario has at hand inside of the guest.

A scenario is a file test_NAME.py beside this one. It runs in a guest of its own, as root, when the
boot has ended, with the project installed and its units enabled; afterwards the guest is thrown
away, so it cleans nothing up, and one file may have several tests that do not disturb each other.

    class Restart(guest.Scenario):
        '''The story, in a few sentences.'''

        def test_what_is_true_in_the_end(self) -> None:
            web = guest.dotnet_service("web", PrivateTmp="yes")     # written, not started
            web.start()
            with guest.Client() as client: ...                      # Varlink, from tests/lib
            self.subscribe().wait_state(web.pid, "ready")
            after = guest.cursor()                                  # before what shall be seen
            guest.systemctl("restart", guest.SERVICE)
            guest.wait_started(guest.SERVICE, after)                # the journal tells: no polling
            self.assertEqual(guest.journal(after, MESSAGE_ID=...), [])

What must be there before the boot is made by a function before_boot(root: Path) in that file, which
runs on the machine: it writes files below root, e.g. DotnetService("web", {}).enable(root). With
BARE = True in that file the project is not installed. What a scenario needs of Debian is listed in
roots.PACKAGES; a unit's own entries have _SYSTEMD_UNIT=, those of systemd about it UNIT=.

While writing one, run it by hand, and look around with a command in its place:

    sudo python3 -B tests/system/run.py 252 tests/system/test_restart.py -k misses
    sudo python3 -B tests/system/run.py 257 -- sh -c 'systemctl status dotnet-discoveryd | cat'

Nothing sleeps or polls. What systemctl does, it has done when it returns (start of a Type=notify
unit: ready); for what systemd does by itself wait for its journal entry, for a process to end use
its pidfd (lib.child), for the daemon's news a subscription. Each wait has a deadline, TIMEOUT.
"""

import json
import os
import pwd
import re
import subprocess
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lib import varlink
from lib.built import built
from lib.child import Child, readable
from lib.subscription import Subscription
from lib.users import GROUP
from lib.varlink import INTERFACE, TIMEOUT

SERVICE = "dotnet-discoveryd.service"
SOCKET = "dotnet-discoveryd.socket"
STATUS_SOCKET = f"/run/dotnet-discoveryd/{INTERFACE}"
SAMPLES = Path(os.environ["DISCOVERY_SAMPLES"])  # here or, before the boot, on the machine
APP = "/samples/native-aot/App"
UNITS = Path("etc/systemd/system")

# Of systemd's own entries: see `journalctl --catalog` or sd-messages.h.
UNIT_STARTED = "39f53479d3a045ac8e11786248231fbf"
UNIT_FAILURE_RESULT = "d9b373ed55a64feb8242e02dbe79a49c"
UNIT_PROCESS_EXIT = "98e322203f7a4ed290d09fe03c09fe15"

# Of the daemon's own.
MESSAGES = dict(re.findall(r'^#define DISCOVERY_MESSAGE_(\w+) "(\w{32})"$',
                           (Path(__file__).parents[2] / "include/discovery_names.h").read_text(),
                           re.MULTILINE))

Entry = dict[str, Any]


# ---- programs and users

def run(*argv: str, user: str | None = None, check: bool = True,
        **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, as this user with its groups; fails where it does."""
    result = subprocess.run([*as_user(user), *argv], stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                            check=False, **options)
    assert not check or result.returncode == 0, (
        f"{argv} ended with {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def spawn(*argv: str, user: str | None = None, **options: Any) -> Child:
    """Starts a program, which ends with the context that it is entered for."""
    return Child([*as_user(user), *argv], **options)


def as_user(user: str | None) -> list[str]:
    """What makes a command that of this user."""
    return ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}",
            "--init-groups", "--"] if user else []


@contextmanager
def exit_of(pid: int) -> Iterator[None]:
    """Leaving waits until this process, which is not a child of ours, is no more."""
    pidfd = os.pidfd_open(pid)
    try:
        yield
        assert readable([pidfd], TIMEOUT), f"{pid} still runs after {TIMEOUT} s"
    finally:
        os.close(pidfd)


def add_user(name: str, *groups: str) -> pwd.struct_passwd:
    """A new user, member of these groups."""
    run("useradd", "--groups", ",".join(groups), name)
    return pwd.getpwnam(name)


# ---- systemd

def systemctl(*arguments: str, check: bool = True) -> str:
    """What systemctl writes."""
    return run("systemctl", "--no-pager", *arguments, check=check).stdout


def show(unit: str, name: str) -> str:
    """A property of a unit."""
    return systemctl("show", "--value", f"--property={name}", unit).strip()


def main_pid(unit: str = SERVICE) -> int:
    """The unit's process."""
    return int(show(unit, "MainPID"))


def drop_in(unit: str, text: str) -> None:
    """Adds to a unit, as `systemctl edit` does; what runs is not started anew."""
    file = Path("/") / UNITS / f"{unit}.d" / "scenario.conf"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    systemctl("daemon-reload")


# ---- journal

def cursor() -> str:
    """The place in the journal where it ends now."""
    run("journalctl", "--sync")
    shown = run("journalctl", "--lines=0", "--show-cursor").stdout.splitlines()[-1]
    return shown.removeprefix("-- cursor: ")


def journal(after: str | None = None, **fields: Any) -> list[Entry]:
    """The entries that have all of these fields, after that cursor."""
    run("journalctl", "--sync")
    entries = map(json.loads, run(*_journalctl(after)).stdout.splitlines())
    return [entry for entry in entries if _has(entry, fields)]


def wait_journal(after: str, timeout: float = TIMEOUT, **fields: Any) -> Entry:
    """The first entry with all of these fields after that cursor, as soon as it is there."""
    deadline = time.monotonic() + timeout
    with spawn(*_journalctl(after), "--follow", "--no-tail") as follow:
        while True:
            entry = json.loads(follow.read_line(deadline - time.monotonic()))
            if _has(entry, fields):
                return entry


def wait_started(unit: str, after: str) -> None:
    """Returns when systemd has told, after that cursor, that the unit's start is done."""
    wait_journal(after, MESSAGE_ID=UNIT_STARTED, UNIT=unit)


def _journalctl(after: str | None) -> list[str]:
    """Without matches: journalctl 252 leaves out the first match behind a cursor that is none."""
    return ["journalctl", "--quiet", "--output=json", "--all",
            *([f"--after-cursor={after}"] if after else [])]


def _has(entry: Entry, fields: dict[str, Any]) -> bool:
    """Whether it has them all; what an entry has several times is a list, bytes are too."""
    def values(name: str) -> list[Any]:
        value = entry.get(name)
        return value if isinstance(value, list) else [value]

    return all(str(value) in values(name) for name, value in fields.items())


# ---- .NET services

class DotnetService:
    """A unit that runs a program with a diagnostic port: a NativeAOT one, or another sample.

    The program leaves when its standard input ends. Its input is a FIFO that systemd made and holds
    open at both ends, so it ends when it is stopped and not before.
    """

    def __init__(self, name: str, directives: dict[str, str], sample: str = "native-aot"):
        self.unit = f"{name}.service"
        self._sample = sample
        self._stdin = f"{name}-stdin.socket"
        self._fifo = f"[Socket]\nListenFIFO=/run/{name}.stdin\nFileDescriptorName=stdin\n" \
                     f"Service={self.unit}\n"
        lines = "".join(f"{key}={value}\n" for key, value in directives.items())
        self._service = "[Service]\nType=exec\n" \
                        f"Sockets={self._stdin}\nStandardInput=fd:stdin\n" \
                        f"StandardOutput=journal\n{lines}"

    @property
    def pid(self) -> int:
        return main_pid(self.unit)

    def write(self, root: Path = Path("/")) -> None:
        """Puts its units there; skips where there is no program for them to run."""
        argv = built(SAMPLES, self._sample, Path("/samples"))["argv"]
        start = f"ExecStart={' '.join(argv)}\n"
        (root / UNITS / self.unit).write_text(self._service + start)
        (root / UNITS / self._stdin).write_text(self._fifo)

    def enable(self, root: Path) -> None:
        """Writes it so that a boot starts it."""
        self.write(root)
        wants = root / UNITS / "multi-user.target.wants"
        wants.mkdir(exist_ok=True)
        (wants / self.unit).symlink_to(f"../{self.unit}")

    def start(self) -> int:
        """Starts it; its pid."""
        systemctl("start", self.unit)
        return self.pid

    def stop(self) -> None:
        """Stops it; it is no more when this returns."""
        systemctl("stop", self.unit)


def dotnet_service(name: str, sample: str = "native-aot", **directives: str) -> DotnetService:
    """A new service with these directives of [Service], in a guest that runs; not started."""
    service = DotnetService(name, directives, sample)
    service.write()
    systemctl("daemon-reload")
    return service


# ---- the daemon

class Client(varlink.Client):
    """A Varlink client of the status socket."""

    def __init__(self) -> None:
        super().__init__(STATUS_SOCKET)


def call(method: str, /, **parameters: Any) -> dict[str, Any]:
    """One call on a connection of its own."""
    with Client() as client:
        return client.call(method, **parameters)


def processes() -> dict[int, dict[str, Any]]:
    """What the daemon lists for root, by pid."""
    return {process["pid"]: process for process in call("List")["processes"]}


def ctl(*arguments: str, user: str | None = None, check: bool = True) -> str:
    """What the client program writes."""
    return run("dotnet-discoveryctl", *arguments, user=user, check=check).stdout


class Scenario(unittest.TestCase):
    """A story, and what is closed and checked at its end."""

    def subscribe(self, **filter_fields: Any) -> Subscription:
        """A new subscriber; at the end it must have been told no nonsense."""
        parameters = {"filter": filter_fields} if filter_fields else {}
        subscription = Subscription(STATUS_SOCKET, parameters)
        self.addCleanup(subscription.check)
        self.addCleanup(subscription.close)
        return subscription
