# SPDX-License-Identifier: MIT
"""The daemon is killed, and gets stuck. systemd brings it back both times."""

import os
import signal

import guest


class Kill(guest.Scenario):
    """A service runs all the time; whatever becomes of the daemon, the next one knows it again."""

    def setUp(self) -> None:
        self.app = guest.dotnet_service("app")
        self.app.start()
        self.known = self.subscribe().wait_state(self.app.pid, "ready")
        self.cursor = guest.cursor()
        self.killed = guest.main_pid()

    def assert_back(self) -> None:
        """Another daemon is there and knows the same life of the same process."""
        guest.wait_started(guest.SERVICE, self.cursor)
        self.assertNotEqual(guest.main_pid(), self.killed)
        again = self.subscribe().wait_state(self.app.pid, "ready")
        self.assertEqual(again["id"], self.known["id"])

    def failure(self) -> str:
        """How the daemon failed, as systemd tells."""
        entry = guest.wait_journal(self.cursor, MESSAGE_ID=guest.UNIT_FAILURE_RESULT,
                                   UNIT=guest.SERVICE)
        return entry["UNIT_RESULT"]

    def test_killed_it_is_started_again(self) -> None:
        os.kill(self.killed, signal.SIGKILL)
        self.assertEqual(self.failure(), "signal")
        self.assert_back()

    def test_stopped_it_is_killed_by_the_watchdog_and_started_again(self) -> None:
        guest.drop_in(guest.SERVICE, "[Service]\nWatchdogSec=1\n")
        guest.systemctl("restart", guest.SERVICE)
        self.cursor = guest.cursor()
        self.killed = guest.main_pid()
        os.kill(self.killed, signal.SIGSTOP)
        self.assertEqual(self.failure(), "watchdog")
        self.assert_back()
