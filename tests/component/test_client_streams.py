# SPDX-License-Identifier: MIT
"""Subscribers that do not behave: none delays another, costs much memory, or is lied to."""

import json
import socket

from lib.client_test import ClientTest
from lib.fakes import Fakes
from lib.require import require_bpf
from lib.subscription import Event, View
from lib.varlink import INTERFACE, Client

QUEUE = 64 << 10
SLEEPERS = 200
LIVES = 400  # about a megabyte of changes
BATCH = 20  # of lives at once: their changes fit the queue of one who has yet to read them


def catch_up(client: Client, view: View, kinds: list[str], until: str) -> None:
    """Reads up to the next event of that kind."""
    while not kinds or kinds[-1] != until:
        reply = client.recv_message()["parameters"]
        kinds.append(reply["kind"])
        for event in Event.from_reply(reply):
            view.feed(event)


class SlowReaders(ClientTest):
    """Subscribers that read nothing, beside one that does."""

    OPTIONS = (f"--max-queue={QUEUE}",)
    # What has been freed would else count as memory for a while.
    ENVIRONMENT = {"ASAN_OPTIONS": "quarantine_size_mb=1"}

    def setUp(self) -> None:
        require_bpf()
        super().setUp()

    def start(self, fakes: Fakes, count: int) -> list[int]:
        """Processes that are ready, a few after another."""
        pids: list[int] = []
        while len(pids) < count:
            pids += (batch := fakes.spawn(BATCH))
            for pid in batch:
                self.watcher.wait_state(pid, "ready")
        return pids

    def finish(self, fakes: Fakes, pids: list[int]) -> None:
        """Ends these, a few after another."""
        for i in range(0, len(pids), BATCH):
            fakes.end(*pids[i:i + BATCH])
            for pid in pids[i:i + BATCH]:
                self.watcher.wait_state(pid, "gone")

    def storm(self, fakes: Fakes) -> None:
        """Processes come and go, and the reader is told of each as if nobody slept."""
        for _ in range(LIVES // BATCH):
            pids = self.start(fakes, BATCH)
            self.finish(fakes, pids)
            for pid in pids:
                self.assertEqual(self.watcher.states(pid)[-2:], ["ready", "gone"])

    def sleeper(self) -> tuple[Client, View, list[str]]:
        """A subscriber that has read its first snapshot and reads no more."""
        client, view, kinds = self.client(), View(), []
        client.send("Subscribe", {}, more=True)
        catch_up(client, view, kinds, "synced")
        return client, view, kinds

    def test_who_sleeps_is_told_of_the_overrun_and_gets_a_new_snapshot(self) -> None:
        fakes = self.fakes()
        early = fakes.spawn(3)
        for pid in early:
            self.watcher.wait_state(pid, "ready")
        overruns = self.counter("overruns")
        client, view, kinds = self.sleeper()
        self.storm(fakes)
        self.assertEqual(self.counter("overruns"), overruns + 1)
        fakes.end(early[0])
        late = fakes.spawn_one()
        self.watcher.wait_state(early[0], "gone")
        self.watcher.wait_state(late, "ready")

        del kinds[:]
        catch_up(client, view, kinds, "overrun")
        self.assertEqual(set(kinds), {"changed", "overrun"})
        catch_up(client, view, kinds, "synced")
        self.assertEqual(kinds.count("overrun"), 1)
        self.assertEqual(kinds[-2:], ["snapshot", "synced"])
        alive = {process["pid"]: process["state"] for process in view.alive.values()}
        self.assertEqual({pid: state for pid, state in alive.items() if pid in [*early, late]},
                         {early[1]: "ready", early[2]: "ready", late: "ready"})

        fakes.end(late)  # and from now on it is like any other
        while late in {process["pid"] for process in view.alive.values()}:
            catch_up(client, view, kinds := [], "changed")
        self.assertEqual(view.problems, [])

    def test_many_who_sleep_cost_little_and_delay_nobody(self) -> None:
        fakes = self.fakes()
        sleepers = [self.sleeper() for _ in range(SLEEPERS)]
        self.storm(fakes)
        self.assertGreaterEqual(self.counter("overruns"), SLEEPERS)
        # What each holds now is all that it will ever hold; a second storm that was kept for them
        # would be a megabyte for each.
        before = self.resident()
        self.storm(fakes)
        self.assertLess(self.resident() - before, SLEEPERS * QUEUE)
        for client, view, kinds in sleepers[::20]:
            catch_up(client, view, kinds, "overrun")
            catch_up(client, view, kinds, "synced")
            self.assertEqual(view.problems, [])

    def test_who_never_reads_even_the_snapshot_gets_one_that_is_of_now(self) -> None:
        fakes = self.fakes()
        client, view, kinds = self.client(), View(), []
        pids = self.start(fakes, 300)
        client.send("Subscribe", {}, more=True)
        self.bystander.call("Status")
        self.storm(fakes)
        self.finish(fakes, pids[::2])
        for until in ("synced", "overrun", "synced"):
            catch_up(client, view, kinds, until)
        alive = {process["pid"] for process in view.alive.values()}
        self.assertEqual(alive & set(pids), set(pids[1::2]))
        self.assertEqual(view.problems, [])
        self.finish(fakes, pids[1::2])


class Leaving(ClientTest):
    """Clients that go, or half go, or go on talking, while they are told something."""

    OPTIONS = (f"--max-queue={16 << 20}",)  # hundreds end at once

    def setUp(self) -> None:
        require_bpf()
        super().setUp()

    def test_clients_that_go_in_mid_stream_leave_nothing(self) -> None:
        pids = self.fakes().spawn(300)
        for pid in pids:
            self.watcher.wait_state(pid, "ready")
        for method in ("Subscribe", "List"):
            for size in (1, 1000, 70000):
                for _ in range(10):
                    client = self.client()
                    client.send(method, {}, more=True)
                    self.assertTrue(client.socket.recv(size))
                    client.close()
        client = self.client()
        client.send("List", {})
        client.close()

    def test_a_subscriber_that_sends_no_more_is_still_told(self) -> None:
        client, view, kinds = self.client(), View(), []
        client.send("Subscribe", {}, more=True)
        client.socket.shutdown(socket.SHUT_WR)
        catch_up(client, view, kinds, "synced")
        pid = self.fakes().spawn_one()
        identity = self.watcher.wait_state(pid, "ready")["id"]
        while view.alive.get(identity, {}).get("state") != "ready":
            catch_up(client, view, kinds := [], "changed")
        self.assertEqual(view.problems, [])

    def test_calls_behind_a_subscribe_are_not_read_and_do_no_harm(self) -> None:
        client, view, kinds = self.client(), View(), []
        malformed = self.counter("connectionsMalformed")
        status = json.dumps({"method": f"{INTERFACE}.Status"}).encode() + b"\0"
        client.send("Subscribe", {}, more=True)
        client.send_raw(status + b"nonsense\0" + b"\0" * 100)
        catch_up(client, view, kinds, "synced")

        client.socket.setblocking(False)  # as much as the socket takes
        with self.assertRaises(BlockingIOError):
            while True:
                client.socket.send(b"\xff" * 65536)
        self.assertEqual(self.counter("connectionsMalformed"), malformed)

        pid = self.fakes().spawn_one()
        identity = self.watcher.wait_state(pid, "ready")["id"]
        while view.alive.get(identity, {}).get("state") != "ready":
            catch_up(client, view, kinds := [], "changed")
        self.assertEqual(view.problems, [])
        client.close()
        self.client().call("Status")
        self.assertEqual(self.counter("connectionsMalformed"), malformed)
