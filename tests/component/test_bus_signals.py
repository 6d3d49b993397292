# SPDX-License-Identifier: MIT
"""Who receives ProcessChanged, and who can send it or take the name: what the policy says, by a
real bus."""

import re

from lib.bus import MANAGER, MEMBER, NAME, OTHER, ROOT, BusError
from lib.bus_test import BusTest
from lib.child import Child
from lib.users import NOBODY

CHANGED = re.compile(rf"/org/dotnetdiscovery1: {re.escape(MANAGER)}\.ProcessChanged "
                     r"\(uint64 (\d+), '([^']+)', uint32 (\d+), uint64 (\d+), '(\w+)', '(\w*)', "
                     r"'(\w*)'\)")


class Signals(BusTest):

    def read_change(self, monitor: Child) -> tuple[str, ...]:
        """The next ProcessChanged that `gdbus monitor` prints."""
        line = monitor.read_line()
        match = CHANGED.fullmatch(line)
        self.assertTrue(match, line)
        return match.groups()

    def test_root_and_members_are_told_of_every_change(self) -> None:
        for user in (ROOT, MEMBER):
            with self.subTest(user=user), self.bus.monitor(user) as monitor:
                pid = self.fakes_of_test.spawn_one(uid=NOBODY, answers=False)
                self.watcher.wait_state(pid, "detected")
                process = self.bystander.call("Get", pid=pid)["process"]
                first = process["sequence"]
                self.fakes_of_test.release(pid)
                self.watcher.wait_state(pid, "ready")
                self.fakes_of_test.end(pid)
                life = (process["id"], str(pid), str(process["startTime"]))
                for number, states in enumerate((("detected", ""), ("ready", "detected"),
                                                 ("gone", "ready"))):
                    self.assertEqual(self.read_change(monitor),
                                     (str(first + number), *life, *states, ""))

    def test_why_it_is_unreachable_is_told(self) -> None:
        with self.bus.monitor(ROOT) as monitor:
            pid = self.fakes_of_test.spawn_one(answers=False)
            self.watcher.wait_state(pid, "unreachable")
            self.assertEqual(self.read_change(monitor)[4:], ("detected", "", ""))
            self.assertEqual(self.read_change(monitor)[4:],
                             ("unreachable", "detected", "timeout"))

    def test_others_are_told_nothing_even_of_their_own(self) -> None:
        with self.bus.listen(OTHER) as other, self.bus.listen(MEMBER) as member:
            self.spawn(NOBODY)
            # The bus has given each signal to all who get it, so it is past the other's place too.
            self.assertEqual(member.until_mark(), ["ProcessChanged"] * 2)
            self.assertEqual(other.until_mark(), [])

    def test_nobody_else_sends_it(self) -> None:
        with self.bus.listen(MEMBER) as member:
            for user in (OTHER, MEMBER):
                try:
                    self.bus.emit(f"{MANAGER}.ProcessChanged", "'forged'", user=user)
                except BusError:
                    pass  # told so; that nobody receives it is what counts
                self.assertEqual(member.until_mark(user), [])

    def test_nobody_else_takes_the_name(self) -> None:
        driver = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
        for user in (OTHER, MEMBER):
            with self.assertRaisesRegex(BusError, "not allowed to own|[Aa]ccess denied"):
                self.bus.call("RequestName", "su", NAME, "7", user=user, to=driver)

    def test_nobody_but_root_becomes_a_monitor(self) -> None:
        for user in (OTHER, MEMBER):
            with self.assertRaisesRegex(BusError, "BecomeMonitor"):
                self.bus.run("busctl", "monitor", NAME, user=user)


class Degraded(BusTest):
    """There is room for one process, and two are there."""

    OPTIONS = ("--max-processes=1",)

    def assert_told(self, monitor: Child, value: str) -> None:
        """Everybody is told the properties that have changed."""
        while "PropertiesChanged" not in (line := monitor.read_line()):
            pass
        self.assertRegex(line, rf"\('{re.escape(MANAGER)}', .*'Degraded': <{value}>")

    def test_what_is_missing_is_told_when_it_changes(self) -> None:
        with self.bus.monitor(OTHER) as monitor:
            first = self.fakes_of_test.spawn_one()
            self.watcher.wait_state(first, "ready")
            self.fakes_of_test.spawn_one()
            self.assert_told(monitor, r"\['more processes than may be followed .*'\]")
            self.fakes_of_test.end(first)
            self.assert_told(monitor, r"@as \[\]")
