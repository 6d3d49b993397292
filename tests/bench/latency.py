# SPDX-License-Identifier: MIT
"""How long after it listens a process is told `ready`, beside what a client needs that is told the
socket and waits for nobody.

Each round starts the same program twice, the order turning round with each: once a subscriber waits
for `ready`, once a bare client tries the socket until it answers. The kernel's record of the
listen(2), as the daemon tells it, is the zero of both. In the second case the daemon asks too, but
the bare client was there first.
"""

import json
from typing import Any

from figures import Report
from lib.daemon import Daemon
from port import boottime_us, exchange, exchange_when_there, path_of
from programs import Sample

SAMPLES = {"native-aot": "NativeAOT", "framework-dependent": "CoreCLR, framework-dependent"}


class Subscriber:
    """Takes the time before it looks at what came."""

    def __init__(self, daemon: Daemon):
        self._client = daemon.client()
        self._client.send("Subscribe", {}, more=True)
        while self._next()[1]["kind"] != "synced":
            pass

    def wait_ready(self, pid: int) -> tuple[float, dict[str, Any]]:
        """When this process was told to be ready, and as what."""
        while True:
            moment, event = self._next()
            process = event.get("process", {})
            if process.get("pid") == pid and process["state"] != "detected":
                assert process["state"] == "ready", process
                assert process["signal"] == "listen", "the kernel did not tell of it"
                return moment, process

    def _next(self) -> tuple[float, dict[str, Any]]:
        frame = self._client.recv_frame()
        moment = boottime_us()
        return moment, json.loads(frame)["parameters"]


class Times:
    """What the rounds of one program gave, in microseconds."""

    def __init__(self) -> None:
        self.told: list[float] = []
        self.answered: list[float] = []
        self.published: list[float] = []
        self.bare: list[float] = []
        self.idle: list[float] = []

    def watch_start(self, name: str, subscriber: Subscriber) -> None:
        """A start as a subscriber sees it, and one exchange once all is quiet."""
        with Sample(name) as sample:
            moment, process = subscriber.wait_ready(sample.pid)
            self.told.append(moment - process["detectedBoottimeUSec"])
            self.answered.append(process["readyBoottimeUSec"] - process["detectedBoottimeUSec"])
            self.published.append(moment - process["readyBoottimeUSec"])
            sample.wait_main()
            before = boottime_us()
            exchange(process["socketPath"])
            self.idle.append(boottime_us() - before)

    def race_start(self, name: str, subscriber: Subscriber) -> None:
        """A start as a client sees it that is told the socket beforehand."""
        with Sample(name) as sample:
            exchange_when_there(path_of(sample.pid))
            moment = boottime_us()
            process = subscriber.wait_ready(sample.pid)[1]
            self.bare.append(moment - process["detectedBoottimeUSec"])


def measure(report: Report, starts: int) -> None:
    """Prints the figures of this file."""
    for name, title in SAMPLES.items():
        with Daemon() as daemon:
            subscriber = Subscriber(daemon)
            times = Times()
            for number in range(starts):
                ways = [times.watch_start, times.race_start]
                for way in ways[::-1 if number % 2 else 1]:
                    way(name, subscriber)
        report.section(f"From listen(2) to `ready`: {title}")
        report.add("listen -> ready at a subscriber", "us", times.told)
        report.add("  of it listen -> answer at the daemon", "us", times.answered)
        report.add("  of it answer at the daemon -> subscriber", "us", times.published)
        report.add("listen -> answer at a bare client that retries", "us", times.bare)
        report.add("subscriber / bare client, by rounds", "ratio",
                   [told / bare for told, bare in zip(times.told, times.bare)])
        report.add("one bare exchange with the process when idle", "us", times.idle)
