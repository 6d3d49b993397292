# SPDX-License-Identifier: MIT
"""Which process is meant, and where in the daemon's run something was told."""

import os

from lib.client_test import ClientTest
from lib.daemon import Daemon
from lib.interface import INTERFACE
from lib.require import require_bpf
from lib.varlink import VarlinkError

WHILE_RUNNING = {"state", "signal", "sequence", "mappingProtection", "detectedRealtimeUSec",
                 "detectedBoottimeUSec", "readyRealtimeUSec", "readyBoottimeUSec"}


class Identity(ClientTest):

    def setUp(self) -> None:
        require_bpf()
        super().setUp()

    def test_get_with_a_start_time_is_about_that_life_alone(self) -> None:
        pid = self.fakes().spawn_one()
        process = self.watcher.wait_state(pid, "ready")
        client = self.client()
        for start in ({}, {"startTime": None}, {"startTime": process["startTime"]}):
            self.assertEqual(client.call("Get", pid=pid, **start)["process"], process)
        for start in (0, process["startTime"] - 1, process["startTime"] + 1, (1 << 63) - 1):
            with self.assertRaises(VarlinkError) as caught:
                client.call("Get", pid=pid, startTime=start)
            self.assertEqual(caught.exception.name, f"{INTERFACE.name}.NoSuchProcess")

    def test_what_is_gone_is_forgotten(self) -> None:
        fakes = self.fakes()
        pid = fakes.spawn_one()
        process = self.watcher.wait_state(pid, "ready")
        fakes.end(pid)
        gone = self.watcher.wait_state(pid, "gone")
        self.assertEqual(gone, process | {"state": "gone", "sequence": gone["sequence"]})
        client = self.client()
        with self.assertRaises(VarlinkError):
            client.call("Get", pid=pid)
        self.assertNotIn(pid, [process["pid"] for process in client.call("List")["processes"]])

    def test_each_life_has_an_id_of_its_own(self) -> None:
        fakes = self.fakes()
        pids = fakes.spawn(50)
        identities = {self.watcher.wait_state(pid, "ready")["id"] for pid in pids}
        self.assertEqual(len(identities), 50)

    def test_the_sequence_grows_with_each_change_and_is_the_same_for_all(self) -> None:
        fakes = self.fakes()
        other = self.subscribe()
        before = self.bystander.call("Status")["sequence"]
        pids = fakes.spawn(20)
        for pid in pids:
            self.watcher.wait_state(pid, "ready")
        fakes.end(*pids)
        for pid in pids:
            self.watcher.wait_state(pid, "gone")
            other.wait_state(pid, "gone")
            mine, theirs = ([event for event in log.of(pid)] for log in (self.watcher, other))
            self.assertEqual(mine, theirs)
            for event in mine:
                self.assertEqual(event.sequence, event.process["sequence"])
        sequences = [event.sequence for event in other.log if event.kind == "changed"]
        self.assertEqual(sequences, sorted(set(sequences)))
        self.assertGreaterEqual(self.bystander.call("Status")["sequence"], before + 40)
        listed = self.bystander.call("List")
        for process in listed["processes"]:
            self.assertLessEqual(process["sequence"], listed["sequence"])

    def test_another_run_knows_the_same_life_by_the_same_id_and_counts_anew(self) -> None:
        pid = self.fakes().spawn_one()
        process = self.watcher.wait_state(pid, "ready")
        status = self.bystander.call("Status")
        with Daemon() as other:
            found = other.call("Get", pid=pid)["process"]
            self.assertEqual(found["signal"], "scan")
            for name in (process.keys() | found.keys()) - WHILE_RUNNING:
                self.assertEqual(found.get(name), process.get(name), name)
            self.assertNotEqual(other.call("Status")["runId"], status["runId"])
        self.assertEqual(self.bystander.call("Status")["runId"], status["runId"])

    def test_status_tells_of_the_run(self) -> None:
        status = self.bystander.call("Status")
        self.assertRegex(status["runId"], "^[0-9a-f]{32}$")
        self.assertEqual(status["kernelRelease"], os.uname().release)
        self.assertNotIn("degraded", status)
        self.assertTrue(all(program["attached"] for program in status["programs"]))
        self.assertGreaterEqual(self.counter("connections"), 2)
        self.assertEqual(self.counter("subscribers"), 1)
