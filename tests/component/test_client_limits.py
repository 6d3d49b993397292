# SPDX-License-Identifier: MIT
"""More clients than there may be, and fewer descriptors than there should be."""

import json
import re
import resource
import time
import unittest

from lib.client_test import ClientTest
from lib.daemon import Daemon
from lib.fakes import Fakes
from lib.require import require_bpf, require_root, require_tool
from lib.users import NOBODY
from lib.varlink import INTERFACE, Client

TOO_MANY = {"error": f"{INTERFACE}.TooManyConnections"}
REFUSED_AT_ONCE = 16
OTHER = 61234  # another uid that nobody has


class Limits(ClientTest):

    def assert_served(self, *clients: Client) -> None:
        """These were let in."""
        for client in clients:
            self.assertIn("version", client.call("Status"))

    def assert_refused(self, client: Client) -> None:
        """This one is told so, whatever it asks, and is let go."""
        client.send("List", {"nonsense": 1}, more=True)
        self.assertEqual(client.recv_message(), TOO_MANY)
        with self.assertRaises(EOFError):
            client.recv_frame()

    def assert_let_in_again(self, client: Client) -> None:
        """After this one leaves there is room for one, and not for two."""
        user = {"uid": NOBODY}
        client.close()
        self.assert_served(self.bystander)
        first, second = self.clients_as(2, **user)
        self.assert_served(first)
        self.assert_refused(second)


class PerUser(Limits):

    OPTIONS = ("--max-connections-per-uid=4",)

    @classmethod
    def setUpClass(cls) -> None:
        require_root()
        super().setUpClass()

    def test_one_user_too_many_is_told_so_and_others_are_served(self) -> None:
        refused = self.counter("connectionsRefused")
        mine = self.clients_as(4)
        self.assert_served(*mine)
        for client in self.clients_as(3):
            self.assert_refused(client)
        self.assertEqual(self.counter("connectionsRefused"), refused + 3)
        self.assert_served(*mine, *self.clients_as(4, uid=OTHER))
        self.assert_served(*(self.client() for _ in range(9)))
        self.assert_let_in_again(mine[0])

    def test_those_who_are_refused_and_stay_cost_a_few_descriptors(self) -> None:
        mine = self.clients_as(4)
        self.assert_served(*mine)
        before = self.held()
        waiting = self.clients_as(200)
        self.assert_served(*mine, self.bystander)
        self.assertLessEqual(self.held(), before + REFUSED_AT_ONCE)
        for client in waiting[:-REFUSED_AT_ONCE]:
            with self.assertRaises(EOFError):
                client.recv_frame()
        for client in waiting[-REFUSED_AT_ONCE:]:
            self.assert_refused(client)

    def test_who_is_refused_and_asks_for_no_answer_gets_none(self) -> None:
        self.assert_served(*self.clients_as(4))
        client = self.client_as()
        client.send_raw(json.dumps({"method": "a.b", "oneway": True}).encode() + b"\0")
        with self.assertRaises(EOFError):
            client.recv_frame()


class InAll(Limits):

    OPTIONS = ("--max-connections=8",)

    @classmethod
    def setUpClass(cls) -> None:
        require_root()
        super().setUpClass()

    def test_when_all_places_are_taken_root_is_refused_too(self) -> None:
        theirs = self.clients_as(4)
        ours = [self.client() for _ in range(2)]  # two more are the daemon's own, of this class
        self.assert_served(*theirs, *ours)
        self.assert_refused(self.client())
        self.assert_refused(self.client_as(uid=OTHER))
        self.assert_served(*theirs, *ours, self.bystander)
        self.assert_let_in_again(theirs[0])


class RootsPart(Limits):

    OPTIONS = ("--max-connections=32",)

    @classmethod
    def setUpClass(cls) -> None:
        require_root()
        super().setUpClass()

    def test_however_many_uids_there_are_one_place_in_eight_is_for_root(self) -> None:
        theirs = [client for uid in range(OTHER, OTHER + 4)
                  for client in self.clients_as(7, uid=uid)]
        self.assert_refused(self.client_as(uid=OTHER + 4))
        ours = [self.client() for _ in range(2)]  # two more are those of this class
        self.assert_served(*theirs, *ours)
        self.assert_refused(self.client())
        self.assert_let_in_again(theirs[0])


class Descriptors(ClientTest):
    """The daemon's descriptors run out under it, which its own limits would not let happen."""

    def setUp(self) -> None:
        require_root()
        require_bpf()
        super().setUp()

    def leave_room(self, count: int) -> None:
        """For so many descriptors more than it has, until the end of the test."""
        before = resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE)
        self.addCleanup(resource.prlimit, self.daemon.pid, resource.RLIMIT_NOFILE, before)
        limits = (self.daemon.fds() + count, before[1])  # the hard one would be for good
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, limits)

    def pauses(self) -> int:
        """How often accepting has failed for it."""
        return len(re.findall("Accepting no connections", self.daemon.stderr))

    def test_it_stops_accepting_and_serves_those_it_has(self) -> None:
        fakes = self.fakes()
        pids = fakes.spawn(2)
        for pid in pids:
            self.watcher.wait_state(pid, "ready")
        mine = [self.client() for _ in range(3)]
        for client in mine:
            client.call("Status")

        began = time.monotonic()
        self.leave_room(0)
        waiting = [self.client() for _ in range(20)]
        for client in waiting:
            client.send("Status", {})
        for _ in range(50):
            for client in (*mine, self.bystander):
                client.call("Status")
        fakes.end(*pids)
        for pid in pids:
            self.watcher.wait_state(pid, "gone")
        # It looks again after a second, and when a client leaves; not whenever it could.
        self.assertLessEqual(self.pauses(), 2 + time.monotonic() - began)

        for client in mine:  # each makes room for the next one
            client.close()
        self.assertIn("version", waiting[0].recv_message()["parameters"])
        for client, following in zip(waiting, waiting[1:]):
            client.close()
            self.assertIn("version", following.recv_message()["parameters"])

    def test_with_room_again_it_accepts_though_nobody_has_left(self) -> None:
        self.leave_room(0)
        waiting = self.client()
        waiting.send("Status", {})
        self.bystander.call("Status")
        self.leave_room(50)
        self.assertIn("version", waiting.recv_message()["parameters"])


class FewDescriptors(unittest.TestCase):
    """A daemon that was given few from the start shares them out."""

    def limited(self, limit: int) -> Daemon:
        """A daemon with this hard limit."""
        return self.enterContext(Daemon(wrapper=[require_tool("prlimit"), f"--nofile={limit}"]))

    def test_clients_never_take_what_watching_needs(self) -> None:
        require_root()
        require_bpf()
        daemon = self.limited(2048)
        subscription = daemon.subscribe()
        subscription.wait_synced()
        crowd = [daemon.client() for _ in range(400)]
        replies = []
        for client in crowd:
            try:
                client.send("Status", {})
                replies.append(client.recv_message())
            except (BrokenPipeError, ConnectionResetError, EOFError):
                pass  # made room for another that was refused
        served = sum("error" not in reply for reply in replies)
        self.assertGreater(served, 50)
        self.assertIn(TOO_MANY, replies)
        self.assertNotIn("Accepting no connections", daemon.stderr)

        with Fakes() as fakes:
            pids = fakes.spawn(100)
            for pid in pids:
                subscription.wait_state(pid, "ready")
            fakes.end(*pids)
            for pid in pids:
                subscription.wait_state(pid, "gone")
        self.assertIn("version", crowd[0].call("Status"))

    def test_with_next_to_none_it_still_serves_a_client(self) -> None:
        require_root()
        daemon = self.limited(64)
        self.assertIn("version", daemon.call("Status"))
        subscription = daemon.subscribe()
        subscription.wait_synced()
        self.assertIn("version", daemon.call("Status"))
