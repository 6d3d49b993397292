# SPDX-License-Identifier: MIT
"""Calls that are large or senseless, on a real bus: each gets a short answer, and nobody else is the
worse for it."""

from lib.bus import MANAGER, NAME, OTHER, PATH, BusError
from lib.bus_test import BusTest

PROPERTIES = "org.freedesktop.DBus.Properties"
PEER = "org.freedesktop.DBus.Peer"
LONG = "a" * 100_000  # a program takes arguments of 128 KiB


class Hostile(BusTest):

    def assert_refused(self, to: tuple[str, str, str], method: str, *arguments: str) -> None:
        """It is told so, in few words."""
        with self.assertRaises(BusError) as caught:
            self.bus.call(method, *arguments, user=OTHER, to=to)
        self.assertLess(len(str(caught.exception)), 200)
        self.assertNotIn("aaaa", str(caught.exception))

    def test_what_is_unknown_is_not_sent_back(self) -> None:
        properties = (NAME, PATH, PROPERTIES)
        self.assert_refused(properties, "GetAll", "s", LONG)
        self.assert_refused(properties, "Get", "ss", LONG, "Version")
        self.assert_refused(properties, "Get", "ss", MANAGER, LONG)
        self.assert_refused(properties, "Set", "ssv", MANAGER, LONG, "s", LONG)
        self.assert_refused((NAME, PATH, MANAGER), "ListProcesses", "a{sv}", "1", LONG, "s", LONG)
        self.assert_refused((NAME, "/aaaa" * 1000, MANAGER), "GetStatus")
        self.assert_refused((NAME, PATH, f"org.aaaa{LONG[:200]}"), "GetStatus")
        self.assert_refused((NAME, PATH, MANAGER), LONG[:250])
        self.assertEqual(self.bus.property("ReadyCount"), 0)

    def test_what_every_object_has(self) -> None:
        for path in ("/", "/org", PATH):
            self.assertEqual(self.bus.call("Ping", user=OTHER, to=(NAME, path, PEER)), [])
        tree = self.bus.run("busctl", "tree", "--list", NAME, user=OTHER)
        self.assertEqual(tree.split(), ["/", "/org", PATH])
        for interface in (PROPERTIES, PEER):
            self.assertEqual(self.bus.call("GetAll", "s", interface, to=(NAME, PATH, PROPERTIES)),
                             [{}])
