# SPDX-License-Identifier: MIT
"""Methods and properties, through busctl and gdbus, as root, a member of the group and others."""

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from lib.bus import MANAGER, MEMBER, OTHER, ROOT
from lib.bus_test import BusTest
from lib.users import NOBODY

CONTRACT = Path(__file__).resolve().parents[2] / "include" / f"{MANAGER}.xml"
NO_SUCH_PROCESS = "org.dotnetdiscovery1.NoSuchProcess: "
INVALID_ARGS = "org.freedesktop.DBus.Error.InvalidArgs: "


def as_varlink(fields: dict[str, Any]) -> dict[str, Any]:
    """The names that the same fields have there."""
    return {key[0].lower() + key[1:]: value for key, value in fields.items()}


def shape(element: ElementTree.Element) -> tuple[Any, ...]:
    """An element without comments and white space."""
    return element.tag, element.attrib, [shape(child) for child in element]


class Calls(BusTest):

    def setUp(self) -> None:
        super().setUp()
        self.theirs = self.spawn(NOBODY)
        self.roots = self.spawn(0)

    def test_introspection_is_the_contract(self) -> None:
        text, = self.bus.call("Introspect", to=("org.dotnetdiscovery1", "/org/dotnetdiscovery1",
                                                "org.freedesktop.DBus.Introspectable"), user=OTHER)
        running = ElementTree.fromstring(text).find(f"interface[@name='{MANAGER}']")
        written = ElementTree.parse(CONTRACT).find("interface")
        self.assertEqual(shape(running), shape(written))

    def test_a_process_is_what_varlink_says(self) -> None:
        for pid in (self.theirs, self.roots):
            process, = self.bus.call("GetProcess", "u", str(pid))
            self.assertEqual(as_varlink(process), self.bystander.call("Get", pid=pid)["process"])

    def test_a_list_is_what_varlink_says(self) -> None:
        sequence, processes = self.bus.call("ListProcesses", "a{sv}", "0")
        listed = self.bystander.call("List")
        self.assertEqual([as_varlink(process) for process in processes], listed["processes"])
        self.assertEqual(sequence, listed["sequence"])

    def test_no_text_of_a_process_keeps_others_from_being_listed(self) -> None:
        hostile = self.fakes(b"\xff \xed\xa0\x80 \xc0\x80", "\ufdd0 \ufffe \U0010ffff")
        pid = hostile.spawn_one(command="a\uffff", version="10\ufdef", assembly="x\U0001fffe")
        self.watcher.wait_state(pid, "ready")
        self.test_a_list_is_what_varlink_says()

    def test_status_is_what_varlink_says(self) -> None:
        for user in (ROOT, OTHER):
            status = as_varlink(self.bus.call("GetStatus", user=user)[0])
            client = self.bystander if user == ROOT else self.client_as()
            expected = client.call("Status")
            for name in ("counters", "processes"):
                expected[name] = {item["name"]: item["value"] for item in expected[name]}
            for counters in (status["counters"], expected["counters"]):
                for name in ("busCalls", "connections"):
                    counters.pop(name, None)  # of the one who asks
            for name in ("mechanisms", "programs"):
                status[name] = [as_varlink(item) for item in status[name]]
            self.assertEqual(status, expected)

    def test_each_sees_its_own_and_root_and_members_see_all(self) -> None:
        for user in (ROOT, MEMBER, OTHER):
            with self.subTest(user=user):
                seen = {self.theirs} if user == OTHER else {self.theirs, self.roots}
                _, processes = self.bus.call("ListProcesses", "a{sv}", "0", user=user)
                self.assertEqual({process["Pid"] for process in processes}, seen)
                self.assertEqual(self.bus.property("ReadyCount", user), len(seen))
                status, = self.bus.call("GetStatus", user=user)
                self.assertEqual(status["Processes"]["ready"], len(seen))
                self.assertEqual("records" in status["Counters"], user != OTHER)

    def test_what_is_not_seen_is_not_there(self) -> None:
        for user, pid in ((OTHER, self.roots), (OTHER, os.getpid()), (ROOT, os.getpid()),
                          (MEMBER, 2**31 - 1)):
            with self.subTest(user=user, pid=pid):
                self.assertTrue(self.bus.error("GetProcess", str(pid), user=user)
                                .startswith(NO_SUCH_PROCESS))

    def test_filters(self) -> None:
        def pids(*filters: str) -> set[int]:
            _, processes = self.bus.call("ListProcesses", "a{sv}", str(len(filters) // 3), *filters)
            return {process["Pid"] for process in processes}

        self.assertEqual(pids("Pid", "u", str(self.theirs)), {self.theirs})
        self.assertEqual(pids("Uid", "u", "0"), {self.roots})
        self.assertEqual(pids("State", "s", "ready", "EntryAssembly", "s", "Fake-*"),
                         {self.theirs, self.roots})
        self.assertEqual(pids("State", "s", "detected"), set())

    def test_what_a_filter_has_wrong_is_named(self) -> None:
        for key, value in (("Pid", "'7'"), ("Pid", "uint32 0"), ("Frob", "'x'"),
                           ("pid", "uint32 7"), ("State", "'x'"), ("Command", "''")):
            with self.subTest(key=key, value=value):
                error = self.bus.error("ListProcesses", f"{{'{key}': <{value}>}}")
                self.assertTrue(error.startswith(INVALID_ARGS), error)
                self.assertIn(key, error)
        self.assertTrue(self.bus.error("GetProcess", "0").startswith(INVALID_ARGS))

    def test_properties(self) -> None:
        status = self.bystander.call("Status")
        for user in (ROOT, OTHER):
            for name in ("version", "runId", "mechanism"):
                self.assertEqual(self.bus.property(name[0].upper() + name[1:], user), status[name])
            self.assertEqual(self.bus.property("Degraded", user), status.get("degraded", []))
            self.assertIn(f"uint32 {1 if user == OTHER else 2}", self.bus.run(
                "gdbus", "call", "--system", "-d", "org.dotnetdiscovery1", "-o",
                "/org/dotnetdiscovery1", "-m", "org.freedesktop.DBus.Properties.GetAll", MANAGER,
                user=user))

    def test_busctl_introspect_shows_the_values(self) -> None:
        table = self.bus.run("busctl", "introspect", "org.dotnetdiscovery1",
                             "/org/dotnetdiscovery1", user=OTHER)
        for row in ((".ListProcesses", "method", "a{sv}", "taa{sv}", "-"),
                    (".ReadyCount", "property", "u", "1", "-"),
                    (".ProcessChanged", "signal", "tsutsss", "-", "-")):
            self.assertIn(row, [tuple(line.split()) for line in table.splitlines()])

    def test_the_group_in_the_daemon_is_that_of_the_bus(self) -> None:
        self.assertEqual(len(self.client_as(groups=[61236]).call("List")["processes"]), 2)
