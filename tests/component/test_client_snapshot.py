# SPDX-License-Identifier: MIT
"""Thousands of processes: snapshots come in pages, and with the changes they are the truth."""

import json
import resource
import unittest
from collections.abc import Iterator
from typing import Any

from lib.client_test import ClientTest
from lib.daemon import Daemon
from lib.fakes import Fakes
from lib.require import require, require_bpf
from lib.subscription import Event, Process, View
from lib.varlink import INTERFACE, Client, VarlinkError

COUNT = 3000
PAGE = 64 << 10
KEPT = 1024  # characters of a text of the runtime
LONG = "\x01" * 2 * KEPT  # each is shown as four, which JSON makes five


def pages(client: Client, method: str) -> Iterator[dict[str, Any]]:
    """The parameters of one reply after another, none above its size."""
    client.send(method, {}, more=True)
    continues = True
    while continues:
        frame = client.recv_frame()
        assert len(frame) <= PAGE, f"a page of {len(frame)} bytes"
        message = json.loads(frame)
        continues = message.get("continues", False)
        yield message["parameters"]


class Thousands(unittest.TestCase):

    @classmethod
    def setUpClass(cls) -> None:
        require_bpf()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        require(hard >= 8192, f"RLIMIT_NOFILE is {hard}: so many processes cannot be followed")
        cls.fakes = cls.enterClassContext(Fakes())
        cls.pids = set(cls.fakes.spawn(COUNT))
        cls.daemon = cls.enterClassContext(Daemon())
        cls.watcher = cls.daemon.subscribe()
        cls.settle()

    @classmethod
    def settle(cls) -> None:
        """Waits until the watcher knows of all that happened."""
        for pid in cls.pids:
            cls.watcher.wait_state(pid, "ready")

    def come_and_go(self, count: int = 30) -> None:
        """Some end and others start, among them the first and the last of the registry."""
        order = sorted(self.pids)
        gone = {*order[:count // 3], *order[-count // 3:], *order[100::COUNT // (count // 3)]}
        self.fakes.end(*gone)
        self.pids.difference_update(gone)
        self.pids.update(self.fakes.spawn(len(gone)))

    def assert_true(self, processes: dict[str, Process]) -> None:
        """Of ours these are all that there are, each as the daemon now has it."""
        of = {process["pid"]: process for process in processes.values()
              if process.get("entryAssembly") == self.fakes.assembly}
        self.assertEqual(of.keys(), self.pids)
        self.assertEqual({process["state"] for process in of.values()}, {"ready"})

    def test_a_snapshot_and_the_changes_beside_it_are_the_truth(self) -> None:
        view, count = View(), 0
        client = self.daemon.client()
        stream = pages(client, "Subscribe")
        for reply in stream:
            for event in Event.from_reply(reply):
                view.feed(event)
            count += reply["kind"] == "snapshot"
            if view.synced:
                break
            if count % 8 == 1:
                self.come_and_go()
        self.assertGreater(count, COUNT * 500 // PAGE)
        self.come_and_go()

        def known() -> set[int]:
            return {process["pid"] for process in view.alive.values()
                    if process.get("entryAssembly") == self.fakes.assembly
                    and process["state"] == "ready"}

        while known() != self.pids:
            for event in Event.from_reply(next(stream)):
                view.feed(event)
        self.assertEqual(view.problems, [])
        self.assert_true(view.alive)
        client.close()

    def test_a_list_in_pages_is_the_truth_of_its_end(self) -> None:
        processes: dict[str, Process] = {}
        count, sequence = 0, 0
        for reply in pages(self.daemon.client(), "List"):
            count += 1
            for process in reply["processes"]:
                if process["id"] in processes:
                    self.assertGreater(process["sequence"], processes[process["id"]]["sequence"])
                processes[process["id"]] = process
            if count in (2, 9, 17):
                self.come_and_go()
            sequence = reply["sequence"]
        self.assertGreater(count, COUNT * 500 // PAGE)
        self.settle()
        # What was told later is left out: the list is of its own moment.
        later = [event for event in self.watcher.log if event.sequence > sequence]
        changed = {event.process["id"] for event in later if event.kind == "changed"}
        listed = {identity for identity, process in processes.items() if process["state"] != "gone"}
        known = {process["id"] for process in self.watcher.alive(*self.pids).values()}
        self.assertLessEqual(known - changed, listed)
        gone = {event.process["id"] for event in self.watcher.log
                if event.kind == "changed" and event.process["state"] == "gone"
                and event.sequence <= sequence}
        self.assertFalse(gone & listed)

    def test_all_ways_to_ask_give_the_same(self) -> None:
        self.settle()
        whole = self.daemon.call("List")["processes"]
        paged = [process for reply in pages(self.daemon.client(), "List")
                 for process in reply["processes"]]
        told = self.watcher.alive(*self.pids)
        for processes in (whole, paged):
            self.assertEqual({process["pid"]: process for process in processes
                              if process["pid"] in self.pids}, told)


class Large(ClientTest):
    """Processes that take much to tell of."""

    OPTIONS = (f"--max-queue={64 << 20}",)

    def setUp(self) -> None:
        require_bpf()
        super().setUp()

    def ready(self, count: int, text: str) -> list[int]:
        """Processes with this text wherever one may be."""
        pids = self.fakes(text).spawn(count, assembly=text, version=text)
        for pid in pids:
            self.watcher.wait_state(pid, "ready")
        return pids

    def test_texts_that_are_too_long_are_cut_and_pages_keep_their_size(self) -> None:
        large, small = self.ready(20, LONG), self.ready(20, "x")
        stream = [process for reply in pages(self.client(), "List")
                  for process in reply["processes"]]
        found = {process["pid"]: len(process["entryAssembly"]) for process in stream}
        self.assertEqual(found, found | dict.fromkeys(large, 4 * KEPT) | dict.fromkeys(small, 1))

    def test_a_list_above_its_limit_is_refused_and_comes_in_pages(self) -> None:
        pids = self.ready(250, LONG)
        client = self.client()
        with self.assertRaises(VarlinkError) as caught:
            client.call("List")
        self.assertEqual(caught.exception.name, f"{INTERFACE}.ReplyTooLarge")
        self.assertEqual(len(client.call("List", filter={"pid": pids[0]})["processes"]), 1)
        listed = {process["pid"] for reply in pages(self.client(), "List")
                  for process in reply["processes"]}
        self.assertLessEqual(set(pids), listed)
