# SPDX-License-Identifier: MIT
"""What every test of a client has around it: a daemon, somebody else who is served by it meanwhile,
and the count of what it holds.
"""

import os
import sys
import time
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.daemon import Daemon
from lib.fakes import Fakes
from lib.subscription import Subscription
from lib.users import connect_as
from lib.varlink import TIMEOUT, Client


class ClientTest(unittest.TestCase):
    """One daemon for a class. After each test it must be as it was before, for others too."""

    OPTIONS: Sequence[str] = ()
    WRAPPER: Sequence[str] = ()
    ENVIRONMENT: dict[str, str] = {}

    daemon: Daemon
    bystander: Client
    watcher: Subscription

    @classmethod
    def setUpClass(cls) -> None:
        cls.daemon = cls.enterClassContext(
            Daemon(["--log-level=debug", *cls.OPTIONS], env=cls.ENVIRONMENT, wrapper=cls.WRAPPER))
        cls.bystander = cls.daemon.client()
        cls.watcher = cls.daemon.subscribe()
        cls.watcher.wait_synced()

    def setUp(self) -> None:
        self._held = self.held()
        # Comes after every other cleanup, when the test's own clients and processes are gone.
        self.addCleanup(self._check_afterwards)

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        bad = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > bad:
            lines = [line[:200] for line in self.daemon.stderr.splitlines()
                     if not line.startswith("libbpf:")][-60:]
            print("--- what the daemon wrote last:", *lines, "---", sep="\n", file=sys.stderr)
        return result

    def client(self) -> Client:
        """A connection for this test."""
        client = Client(self.daemon.socket)
        self.addCleanup(client.close)
        return client

    def clients_as(self, count: int = 1, **user: Any) -> list[Client]:
        """Connections of another user; lib.users.connect_as() takes the user."""
        clients = [Client(connection)
                   for connection in connect_as(self.daemon.socket, count, **user)]
        for client in clients:
            self.addCleanup(client.close)
        return clients

    def client_as(self, **user: Any) -> Client:
        """One connection of another user."""
        return self.clients_as(1, **user)[0]

    def subscribe(self, **fields: Any) -> Subscription:
        """A subscriber for this test, synced, with a filter of these fields."""
        parameters = {"filter": fields} if fields else {}
        return self._synced(Subscription(self.daemon.socket, parameters))

    def subscribe_as(self, **user: Any) -> Subscription:
        """A subscriber that is another user."""
        return self._synced(Subscription(connect_as(self.daemon.socket, **user)[0], {}))

    def fakes(self, *arguments: str | bytes) -> Fakes:
        """Fake processes for this test."""
        return self.enterContext(Fakes(*arguments))

    def counter(self, name: str) -> int:
        """One of the daemon's counters."""
        counters = self.bystander.call("Status")["counters"]
        return next(counter["value"] for counter in counters if counter["name"] == name)

    def held(self) -> int:
        """How many descriptors it holds, those of processes left out: others start and end some."""
        return sum("pidfd" not in link for link in self._links())

    def resident(self) -> int:
        """Bytes of memory that the daemon has."""
        pages = Path(f"/proc/{self.daemon.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _synced(self, subscription: Subscription) -> Subscription:
        self.addCleanup(subscription.check)
        self.addCleanup(subscription.close)
        subscription.wait_synced()
        return subscription

    def _links(self) -> list[str]:
        links = []
        folder = f"/proc/{self.daemon.pid}/fd"
        for name in os.listdir(folder):
            try:
                links.append(os.readlink(f"{folder}/{name}"))
            except FileNotFoundError:
                pass  # closed meanwhile
        return links

    def _check_afterwards(self) -> None:
        """Asks until it is so: what a client left behind, the daemon sees in its next turns."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            processes = self.bystander.call("Status")["processes"]
            known = sum(counter["value"] for counter in processes)
            links = self._links()
            followed = sum("pidfd" in link for link in links)
            if len(links) - followed <= self._held and followed == known:
                break
            self.assertLess(time.monotonic(), deadline,
                            f"descriptors leaked: {len(links) - followed} after {self._held}, and "
                            f"{followed} for {known} processes: {sorted(links)}")
        self.assertIsNone(self.watcher.ended, "another subscriber was cut off")
        self.assertNotIn("overrun", {event.kind for event in self.watcher.log})
