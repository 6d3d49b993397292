# SPDX-License-Identifier: MIT
"""Processors that come and go while perf tells of mappings, which it does for each by itself."""

import os
import time
from contextlib import suppress
from pathlib import Path

from ladder import Ladder, start_app
from lib.daemon import Daemon
from lib.subscription import Subscription
from lib.varlink import TIMEOUT

SECOND = Path("/sys/devices/system/cpu/cpu1/online")


def counter(daemon: Daemon, name: str) -> int:
    """What Status counts."""
    return {item["name"]: item["value"] for item in daemon.call("Status")["counters"]}[name]


def perf_descriptors(daemon: Daemon) -> int:
    """How many descriptors of perf it holds."""
    links = []
    for link in Path(f"/proc/{daemon.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile, as that of an attempt is
            links.append(os.readlink(link))
    return links.count("anon_inode:[perf_event]")


class Hotplug(Ladder):
    """One of two is online when the daemon starts."""

    def wait_scan(self, daemon: Daemon) -> None:
        """Returns when a scan has ended that began after this; it looks for processors first."""
        before = counter(daemon, "rescans")
        deadline = time.monotonic() + TIMEOUT
        while (now := counter(daemon, "rescans")) < before + 2:
            self.assertLess(time.monotonic(), deadline, f"{now} scans, after {before}")

    def check_noticed_on(self, processor: str, subscription: Subscription) -> None:
        """A process that never runs anywhere else is told of by perf, and not by the next scan."""
        self.check_notices(subscription, "perf", "taskset", "-c", processor)

    def test_one_comes_and_goes(self) -> None:
        self.assertEqual(SECOND.read_text().strip(), "0")
        with Daemon(["--mechanism=perf", "--log-level=debug"]) as daemon:
            subscription = daemon.subscribe()
            subscription.wait_synced()
            self.check_noticed_on("0", subscription)
            alone = perf_descriptors(daemon)

            SECOND.write_text("1")
            self.wait_scan(daemon)
            self.assertGreater(perf_descriptors(daemon), alone)
            self.check_noticed_on("1", subscription)
            self.check_noticed_on("0", subscription)

            # Gone and back before anybody looked: the descriptor is open and says nothing more.
            SECOND.write_text("0")
            SECOND.write_text("1")
            self.wait_scan(daemon)
            self.assertGreater(perf_descriptors(daemon), alone)
            self.check_noticed_on("1", subscription)

            SECOND.write_text("0")
            self.wait_scan(daemon)
            self.assertEqual(perf_descriptors(daemon), alone)
            self.check_noticed_on("0", subscription)
