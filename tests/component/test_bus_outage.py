# SPDX-License-Identifier: MIT
"""A bus that is late, ends, comes back, stands still, or refuses the name: nothing else of the
daemon is the worse for it."""

import re
import signal
import time
from pathlib import Path

from lib.bus import MEMBER, ROOT
from lib.bus_test import BusTest
from lib.daemon import Daemon
from lib.varlink import TIMEOUT


class OutageTest(BusTest):

    def wait_idle(self) -> None:
        """Returns when no timer of the daemon is set: it then does nothing by itself."""
        deadline = time.monotonic() + TIMEOUT
        while timers := self.timers():
            self.assertLess(time.monotonic(), deadline, f"timers stay set: {timers}")

    def timers(self) -> list[str]:
        """What is left of each timer that is set."""
        folder = Path(f"/proc/{self.daemon.pid}/fdinfo")
        texts = [path.read_text() for path in folder.iterdir() if path.exists()]
        values = [match[1] for text in texts
                  if (match := re.search(r"^it_value: (.*)$", text, re.MULTILINE))]
        return [value for value in values if value != "(0, 0)"]

    def assert_told(self) -> None:
        """The name is the daemon's, and its signals come."""
        self.bus.wait_name()
        with self.bus.listen(MEMBER) as member:
            self.spawn()
            self.assertEqual(member.until_mark(), ["ProcessChanged"] * 2)


class Late(OutageTest):
    """The daemon starts without a bus."""

    @classmethod
    def start_bus(cls) -> None:
        pass

    @classmethod
    def wait_bus(cls) -> None:
        pass

    def test_it_is_ready_waits_idly_and_takes_the_name_when_the_bus_comes(self) -> None:
        self.spawn()
        self.wait_idle()
        self.bus.start()
        self.assert_told()
        self.wait_idle()


class Restarted(OutageTest):

    def test_the_name_is_taken_again(self) -> None:
        for _ in range(2):
            self.bus.kill()
            pid = self.spawn()
            self.wait_idle()
            self.bus.start()
            self.assert_told()
            self.assertEqual(self.bus.call("GetProcess", "u", str(pid))[0]["State"], "ready")
        self.assertNotIn("nothing is told over D-Bus", self.daemon.stderr)


class Stopped(OutageTest):

    def test_a_bus_that_stands_still_holds_up_nobody(self) -> None:
        with self.bus.monitor(ROOT) as monitor:
            self.bus.signal(signal.SIGSTOP)
            try:
                pid = self.spawn()  # told to a subscriber of the status socket
                self.wait_idle()
            finally:
                self.bus.signal(signal.SIGCONT)
            for state in ("detected", "ready"):
                line = monitor.read_line()
                self.assertIn(f"uint32 {pid}, ", line)
                self.assertIn(f"'{state}'", line)

    def test_the_daemon_ends_while_the_bus_stands_still(self) -> None:
        with Daemon(env=self.bus.env, wrapper=self.bus.wrapper) as daemon:
            self.bus.signal(signal.SIGSTOP)
            try:
                self.spawn()
                daemon.stop()
            finally:
                self.bus.signal(signal.SIGCONT)


class Starting(OutageTest):
    """The bus takes connections, and says nothing."""

    @classmethod
    def start_bus(cls) -> None:
        super().start_bus()
        cls.bus.signal(signal.SIGSTOP)

    @classmethod
    def wait_bus(cls) -> None:
        pass

    def test_the_daemon_starts_all_the_same(self) -> None:
        self.spawn()
        self.bus.signal(signal.SIGCONT)
        self.assert_told()


class Refused(OutageTest):
    """The policy is not installed: everybody would be told of everything."""

    POLICY = False

    @classmethod
    def wait_bus(cls) -> None:
        pass

    def test_nothing_is_told_and_the_log_says_what_to_do(self) -> None:
        self.wait_log("the daemon may not have the name org.dotnetdiscovery1")
        self.wait_log("install org.dotnetdiscovery1.conf")
        with self.bus.listen(MEMBER) as member:
            self.spawn()
            self.assertEqual(member.until_mark(), [])
        self.wait_idle()


class Taken(OutageTest):
    """Another daemon has the name."""

    @classmethod
    def start_bus(cls) -> None:
        super().start_bus()
        cls.other = cls.enterClassContext(Daemon(env=cls.bus.env, wrapper=cls.bus.wrapper))
        cls.bus.wait_name()

    def test_it_is_taken_when_it_is_free(self) -> None:
        owner = self.bus.owner()
        self.wait_log("somebody else has the name org.dotnetdiscovery1")
        self.assertEqual(self.bus.owner(), owner)
        told = self.other.subscribe()
        self.addCleanup(told.close)
        with self.bus.listen(MEMBER) as member:
            told.wait_state(self.spawn(), "ready")
            self.other.call("Status")
            # The other's alone.
            self.assertEqual(member.until_mark(), ["ProcessChanged"] * 2)
        self.other.stop()
        self.assert_told()
        self.assertNotEqual(self.bus.owner(), owner)
