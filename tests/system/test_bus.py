# SPDX-License-Identifier: MIT
"""The bus comes and goes, gets stuck, and starts the daemon; nobody but its own users notices."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import guest
from lib.bus import NAME, BusError
from lib.fakes import Fakes
from system_bus import BUS, SOCKET, UNIT, Monitor

BUS_SOCKET = Path("/run/dbus/system_bus_socket")
ALIAS = "dbus-org.dotnetdiscovery1.service"


class Witness(guest.Scenario):
    """A machine on which somebody follows the daemon over its status socket all the time."""

    def setUp(self) -> None:
        self.fakes = self.enterContext(Fakes())
        self.daemon = guest.main_pid()
        self.subscription = self.subscribe()
        self.subscription.wait_synced()

    def begin(self) -> int:
        """A process, of which the subscriber is told."""
        pid = self.fakes.spawn_one()
        self.subscription.wait_state(pid, "ready")
        return pid

    def assert_unimpressed(self) -> None:
        """It is the daemon that it was, and the subscriber has the connection that it had."""
        self.begin()
        self.assertIsNone(self.subscription.ended)
        self.assertNotIn("overrun", {event.kind for event in self.subscription.log})
        self.assertEqual(guest.main_pid(), self.daemon)
        self.assertEqual(guest.show(guest.SERVICE, "NRestarts"), "0")

    def assert_on_the_bus(self) -> None:
        """It is called there, and heard."""
        self.assertIn(self.begin(), BUS.processes())
        with Monitor() as monitor:
            pid = self.begin()
            self.assertEqual(monitor.wait_signal(pid, "ready").id,
                             self.subscription.alive()[pid]["id"])


class Restarted(Witness):
    """Somebody restarts the bus, or it dies. The daemon takes its name again by itself."""

    def test_restarted(self) -> None:
        self.assert_on_the_bus()
        guest.systemctl("restart", UNIT)
        BUS.wait_name()
        self.assert_on_the_bus()
        self.assert_unimpressed()

    def test_killed(self) -> None:
        before = guest.main_pid(UNIT)
        with guest.exit_of(before):
            os.kill(before, signal.SIGKILL)
        # Its socket starts the next one for whoever connects first, the daemon perhaps.
        BUS.wait_name()
        self.assertNotEqual(guest.main_pid(UNIT), before)
        self.assert_on_the_bus()
        self.assert_unimpressed()

    def test_changes_meanwhile_are_in_the_list(self) -> None:
        stays, ends = self.begin(), self.begin()
        sequence, _ = BUS.call("ListProcesses", "a{sv}", "0")
        guest.systemctl("stop", SOCKET, UNIT)
        self.fakes.end(ends)
        self.subscription.wait_state(ends, "gone")
        begins = self.begin()
        guest.systemctl("start", SOCKET, UNIT)
        BUS.wait_name()
        listed = BUS.processes()
        self.assertLessEqual({stays, begins}, set(listed))
        self.assertNotIn(ends, listed)
        # What was missed can be seen: it was told with the numbers in between.
        with Monitor() as monitor:
            told = monitor.wait_signal(self.begin(), "ready")
        self.assertGreater(told.sequence, sequence + 1)
        self.assert_unimpressed()


class Stuck(Witness):
    """The bus stops, its socket is there. What is told over the status socket, and the watchdog,
    do not wait for it. The connection is given up after a while; when the bus goes on there is a new
    one, and what was not told meanwhile is counted and can be seen in the sequence.
    """

    WATCHDOG = 3  # seconds; a process that does not answer is unreachable after two

    def test_stopped_for_longer_than_the_watchdog_waits(self) -> None:
        guest.drop_in(guest.SERVICE, f"[Service]\nWatchdogSec={self.WATCHDOG}\n")
        guest.systemctl("restart", guest.SERVICE)
        self.daemon = guest.main_pid()
        self.subscription = self.subscribe()
        self.subscription.wait_synced()
        with Monitor() as monitor:
            with stopped(guest.main_pid(UNIT)):
                pids = self.fakes.spawn(100)
                for pid in pids:
                    self.subscription.wait_state(pid, "ready")
                for _ in range(self.WATCHDOG - 1):  # one after another
                    silent = self.fakes.spawn_one(answers=False)
                    self.subscription.wait_state(silent, "unreachable")
                self.assert_unimpressed()
            monitor.wait_no_owner()  # the connection that was given up
            monitor.wait_owner()
            last = self.begin()
            monitor.wait_signal(last, "ready")
        sequences = [signal.sequence for signal in monitor.signals]
        self.assertEqual(sequences, sorted(set(sequences)))
        self.assertGreater(sequences[-1] - sequences[0] + 1, len(sequences))
        self.assertGreater(BUS.status()["Counters"]["busSignalsDropped"], 0)
        self.assertLessEqual({*pids, last}, BUS.processes())
        self.assert_on_the_bus()
        self.assert_unimpressed()


class Late(Witness):
    """A machine without a bus gets one while the daemon runs."""

    def test_no_socket(self) -> None:
        self.start_without_bus(unlink=True)
        self.start_bus()

    def test_a_socket_without_a_listener(self) -> None:
        self.start_without_bus(unlink=False)
        self.start_bus()

    def start_without_bus(self, unlink: bool) -> None:
        """The daemon is started, and serves."""
        guest.systemctl("stop", SOCKET, UNIT)
        if unlink:
            BUS_SOCKET.unlink()
        guest.systemctl("restart", guest.SERVICE)
        self.daemon = guest.main_pid()
        self.subscription = self.subscribe()
        self.assert_unimpressed()
        self.assertNotIn("degraded", guest.call("Status"))

    def start_bus(self) -> None:
        """The bus is started, and the daemon is there."""
        guest.systemctl("start", SOCKET, UNIT)
        BUS.wait_name()
        self.assert_on_the_bus()
        self.assert_unimpressed()


class Activation(guest.Scenario):
    """The daemon is stopped, and somebody calls it by its name on the bus."""

    def test_the_bus_has_systemd_start_it(self) -> None:
        with Monitor() as monitor:
            guest.systemctl("stop", guest.SERVICE, guest.SOCKET)
            monitor.wait_no_owner()
            self.assertEqual(BUS.property("ReadyCount"), 0)
            monitor.wait_owner()
        self.assertEqual(guest.show(guest.SERVICE, "ActiveState"), "active")
        self.assertEqual(guest.show(guest.SOCKET, "ActiveState"), "active")

    def test_disabled_it_is_not_started(self) -> None:
        guest.systemctl("disable", "--now", guest.SERVICE)
        self.addCleanup(guest.systemctl, "enable", "--now", guest.SERVICE)
        self.assertIn(f"Unit {ALIAS} not found", BUS.error("GetStatus"))
        self.assertEqual(guest.show(guest.SERVICE, "ActiveState"), "inactive")


class Name(guest.Scenario):
    """Others would like to be taken for the daemon."""

    REPLACE_EXISTING = "2"
    IN_QUEUE = 2
    DRIVER = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")

    def request(self, user: str) -> int:
        """What the bus answers to this user, who asks for the name."""
        return BUS.call("RequestName", "su", NAME, self.REPLACE_EXISTING, user=user,
                        to=self.DRIVER)[0]

    def test_another_user_cannot_have_the_name(self) -> None:
        guest.add_user("mallory", guest.GROUP)
        with self.assertRaisesRegex(BusError, "Access denied"):
            self.request("mallory")

    def test_root_has_to_wait_for_it(self) -> None:
        self.assertEqual(self.request("root"), self.IN_QUEUE)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """This process does nothing inside."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
