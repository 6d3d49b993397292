# SPDX-License-Identifier: MIT
"""What the stories of the deb and of the rpm have in common."""

import grp
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import guest
from lib import packages
from lib.bus import MANAGER, PATH

APP = guest.DotnetService("app", {"PrivateTmp": "yes", "DynamicUser": "yes"})
LINKS = {f"/{path}" for path in packages.LINKS}
# What is no part of the system, or changes all the time.
ELSEWHERE = {"/checkout", "/dev", "/out", "/proc", "/root", "/samples", "/sys", "/tmp",
             "/var/log/journal", "/var/tmp", "/run/systemd", "/run/log", "/run/user"}
# Backups that useradd makes.
OF_THE_MEMBER = ("/etc/subgid-", "/etc/subuid-")


def files() -> set[str]:
    """All paths of the guest."""
    found = set()
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in ELSEWHERE]
        found.update(os.path.join(folder, name) for name in [*folders, *names])
    return found


def links() -> set[str]:
    """Those by which systemd and the bus start the daemon."""
    return {str(path) for path in Path("/etc/systemd").rglob("*dotnet*") if path.is_symlink()}


class Story(guest.Scenario):
    """A machine with a .NET service, and with nothing of the project before the story begins."""

    def assert_installed(self) -> None:
        """All that a package brings along beside its files."""
        self.assertEqual(links(), LINKS)
        self.assertTrue(grp.getgrnam(guest.GROUP))
        self.assertIn("dotnet-discoveryd: ", guest.run("journalctl", "--list-catalog").stdout)

    def assert_members_hear(self) -> None:
        """The bus has read its policy again since there is the group that it names: a member gets a
        signal such as the daemon sends.
        """
        guest.add_user("member", guest.GROUP)
        with guest.spawn("dbus-monitor", "--system", f"type='signal',interface='{MANAGER}'",
                         user="member", stderr=subprocess.DEVNULL) as monitor:
            monitor.read_line()  # it listens
            guest.run("busctl", "emit", PATH, MANAGER, "Heard")
            while "member=Heard" not in monitor.read_line():
                pass

    def assert_runs(self) -> None:
        """It serves, and has found the service."""
        self.assertEqual(guest.show(guest.SERVICE, "ActiveState"), "active")
        self.assertEqual(self.subscribe().wait_state(APP.pid, "ready")["unit"], APP.unit)

    def upgrade(self, *argv: str) -> None:
        """Runs the upgrade under a subscriber, who waits for the new daemon and misses nothing."""
        before = guest.main_pid()
        listening = guest.show(guest.SOCKET, "ActiveEnterTimestampMonotonic")
        known = self.subscribe().wait_state(APP.pid, "ready")
        with guest.Client() as client, guest.spawn(*argv) as package_manager:
            with self.assertRaises(EOFError):
                client.recv_message()  # the old daemon has ended, and the new one has not begun
            again = self.subscribe()
            self.assertEqual(again.wait_state(APP.pid, "ready")["id"], known["id"])
            self.assertEqual(package_manager.wait(), 0)
        self.assertNotEqual(guest.main_pid(), before)
        self.assertEqual(guest.show(guest.SOCKET, "ActiveEnterTimestampMonotonic"), listening)
        APP.stop()
        again.wait_for(lambda event: event.process and event.process["state"] == "gone")
        APP.start()
        again.wait_state(APP.pid, "ready")

    def assert_removed(self, before: set[str], left: Sequence[str]) -> None:
        """Nothing is there that was not there before, but the group and what is named."""
        self.assertEqual({path for path in files() - before
                          if not path.startswith((*OF_THE_MEMBER, *left))}, set())
        self.assertNotIn("dotnet-discoveryd: ", guest.run("journalctl", "--list-catalog").stdout)
        self.assertTrue(grp.getgrnam(guest.GROUP))
        for unit in guest.SERVICE, guest.SOCKET:
            self.assertEqual(guest.show(unit, "LoadState"), "not-found")
            self.assertEqual(guest.show(unit, "ActiveState"), "inactive")
