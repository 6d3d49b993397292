# SPDX-License-Identifier: MIT
"""A real message bus of a test's own, and users of it, through the programs that people have."""

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.child import Child
from lib.require import require_root, require_tool
from lib.users import GROUP, PRIVATE_GROUPS
from lib.varlink import TIMEOUT

NAME = "org.dotnetdiscovery1"
PATH = "/org/dotnetdiscovery1"
MANAGER = "org.dotnetdiscovery1.Manager"
POLICY = Path(__file__).resolve().parents[2] / "systemd" / f"{NAME}.conf"

# Users that every system has; nobody need be able to log in as them.
ROOT = "root"
MEMBER = "daemon"
OTHER = "nobody"
GROUP_ID = 61236

# The policies of a system bus. The distribution's own file names a user that may not be here.
CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <deny own="*"/>
    <deny send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus"/>
  </policy>
  {policy}
</busconfig>
"""


class BusError(Exception):
    """What a call was answered with, as the tool puts it."""


class Bus:
    """A bus in a folder, and a group of the name that the daemon looks for.

    The bus and whoever is to know the group by its name run behind `wrapper`.
    """

    def __init__(self, policy: bool = True) -> None:
        require_root()
        self._program = require_tool("dbus-daemon")
        for tool in ("busctl", "gdbus", "dbus-monitor", "setpriv", "unshare"):
            require_tool(tool)
        self._policy = f"<include>{POLICY}</include>" if policy else ""
        self._child: Child | None = None

    def __enter__(self) -> "Bus":
        self._temporary = tempfile.TemporaryDirectory(prefix="discovery-bus-")
        self.folder = Path(self._temporary.name)
        self.folder.chmod(0o755)
        self.socket = self.folder / "bus"
        self._config = self.folder / "bus.conf"
        self._config.write_text(CONFIG.format(socket=self.socket, policy=self._policy))
        groups = self.folder / "group"
        kept = [line for line in Path("/etc/group").read_text().splitlines()
                if not line.startswith(f"{GROUP}:")]
        groups.write_text("\n".join([*kept, f"{GROUP}:x:{GROUP_ID}:", ""]))
        self.wrapper = ["unshare", "--mount", "--propagation=private", "sh", "-c", PRIVATE_GROUPS,
                        str(groups)]
        self.env = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.socket}"}
        return self

    def __exit__(self, *_: object) -> None:
        if self._child:
            self._child.__exit__()
        self._temporary.cleanup()

    def start(self) -> None:
        """Starts it; it listens when this returns."""
        self._child = Child([*self.wrapper, self._program, f"--config-file={self._config}",
                             "--nofork", "--nopidfile", "--print-address"])
        self._child.read_line()

    def kill(self) -> None:
        """Ends it as a crash does: its socket stays behind."""
        self._child.kill()
        self._child.wait()
        self._child.__exit__()

    def signal(self, number: int) -> None:
        """Sends the bus a signal, such as SIGSTOP."""
        self._child.kill(number)

    def run(self, *argv: str, user: str = ROOT) -> str:
        """What a program prints that this user runs. Raises BusError where it fails."""
        result = subprocess.run([*as_user(user), *argv], env=os.environ | self.env, text=True,
                                capture_output=True, timeout=TIMEOUT, check=False)
        if result.returncode != 0:
            raise BusError(result.stderr.strip())
        return result.stdout

    def wait_name(self) -> None:
        """Returns when the daemon's name has an owner."""
        self.run("gdbus", "wait", "--system", f"--timeout={TIMEOUT:.0f}", NAME)

    def owner(self) -> str:
        """The unique name of whoever has the daemon's name."""
        return self.call("GetNameOwner", "s", NAME, to=("org.freedesktop.DBus",
                                                        "/org/freedesktop/DBus",
                                                        "org.freedesktop.DBus"))[0]

    def call(self, method: str, *arguments: str, user: str = ROOT,
             to: tuple[str, str, str] = (NAME, PATH, MANAGER)) -> list[Any]:
        """The values that a method returns, by busctl; variants as what is in them."""
        output = self.run("busctl", "--json=short", "call", *to, method, *arguments, user=user)
        return [] if not output.strip() else bare(json.loads(output)["data"])

    def property(self, name: str, user: str = ROOT) -> Any:
        """A property, by busctl."""
        output = self.run("busctl", "--json=short", "get-property", NAME, PATH, MANAGER, name,
                          user=user)
        return json.loads(output)["data"]

    def error(self, method: str, *arguments: str, user: str = ROOT) -> str:
        """The name and text of the error that a method returns, by gdbus, which tells both."""
        try:
            self.run("gdbus", "call", "--system", "-d", NAME, "-o", PATH, "-m",
                     f"{MANAGER}.{method}", *arguments, user=user)
        except BusError as error:
            return str(error).removeprefix("Error: GDBus.Error:")
        raise AssertionError(f"{method} has not failed")

    def listen(self, user: str) -> "Listener":
        """Somebody who wants every signal that there is. Not root, who would become a monitor, to
        which no policy applies."""
        return Listener(self, user)

    def monitor(self, user: str) -> Child:
        """`gdbus monitor`, which prints a line for each signal of the daemon."""
        monitor = Child([*as_user(user), "gdbus", "monitor", "--system", "-d", NAME],
                        env=os.environ | self.env)
        while "is owned by" not in monitor.read_line():
            pass
        return monitor

    def emit(self, signal: str, *arguments: str, user: str = ROOT) -> None:
        """Sends a signal to everybody."""
        self.run("gdbus", "emit", "--system", "-o", PATH, "-s", signal, *arguments, user=user)


class Listener(Child):
    """dbus-monitor with one rule for all signals: it has each that the bus lets this user have."""

    INTERFACE = "org.example.Marker"

    def __init__(self, bus: Bus, user: str) -> None:
        super().__init__([*as_user(user), "dbus-monitor", "--system", "type='signal'"],
                         env=os.environ | bus.env, stderr=subprocess.DEVNULL)
        self._bus = bus
        # It does not say when it listens.
        deadline = time.monotonic() + TIMEOUT
        while not self.has_output():
            assert time.monotonic() < deadline, "dbus-monitor does not listen"
            bus.emit(f"{self.INTERFACE}.Begin")

    def until_mark(self, user: str = ROOT) -> list[str]:
        """The members of the daemon's interface among the signals up to now.

        This user sends a mark, and the bus keeps the order.
        """
        self._bus.emit(f"{self.INTERFACE}.Mark", user=user)
        members = []
        while True:
            header = re.search(r"; interface=(\S+); member=(\S+)$", self.read_line())
            if header and header[1] == MANAGER:
                members.append(header[2])
            elif header and header.groups() == (self.INTERFACE, "Mark"):
                return members


def as_user(user: str) -> Sequence[str]:
    """The command in front of another user's; the member has the group."""
    if user == ROOT:
        return []
    groups = ["--groups", str(GROUP_ID)] if user == MEMBER else ["--clear-groups"]
    return ["setpriv", "--reuid", user, "--regid", "65534", *groups, "--"]


def bare(value: Any) -> Any:
    """busctl writes a variant as an object of its type and data."""
    if isinstance(value, dict):
        if value.keys() == {"type", "data"}:
            return bare(value["data"])
        return {key: bare(item) for key, item in value.items()}
    return [bare(item) for item in value] if isinstance(value, list) else value
