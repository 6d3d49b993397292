# SPDX-License-Identifier: MIT
"""What the daemon holds, and how often it wakes, while nothing happens."""

import os
import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from figures import Report
from lib.child import readable
from lib.daemon import Daemon
from lib.subscription import Subscription
from programs import Sample

COUNT = 50
# The daemon's last timer after a start or a change is over by then; so are the samples' own starts.
SETTLE = 5.0


class State(NamedTuple):
    """What the kernel says of the daemon at one moment."""

    resident: int  # kB, as the next
    anonymous: int
    descriptors: int
    voluntary: int
    involuntary: int
    cpu_us: float

    @classmethod
    def of(cls, daemon: Daemon) -> "State":
        """Asks the kernel only, so that the daemon stays asleep."""
        status = Path(f"/proc/{daemon.pid}/status").read_text()
        schedule = Path(f"/proc/{daemon.pid}/schedstat").read_text()

        def number(name: str) -> int:
            return int(re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)[1])

        return cls(number("VmRSS"), number("RssAnon"), daemon.fds(),
                   number("voluntary_ctxt_switches"), number("nonvoluntary_ctxt_switches"),
                   int(schedule.split()[0]) / 1000)


def wait(daemon: Daemon, seconds: float) -> None:
    """Lets time pass, which is what is measured; fails where the daemon ends meanwhile."""
    pidfd = os.pidfd_open(daemon.pid)
    try:
        assert not readable([pidfd], seconds), "the daemon ended"
    finally:
        os.close(pidfd)


def known(daemon: Daemon) -> tuple[int, int]:
    """How many processes it knows, and the number of its last change."""
    status = daemon.call("Status")
    return sum(counter["value"] for counter in status["processes"]), status["sequence"]


def measure_state(report: Report, daemon: Daemon, title: str, idle: float) -> None:
    """The figures of one state of things."""
    count, before = known(daemon)
    wait(daemon, SETTLE)
    first, started = State.of(daemon), time.monotonic()
    if idle:
        wait(daemon, idle)
    last, seconds = State.of(daemon), time.monotonic() - started
    count_after, after = known(daemon)

    report.section(f"{title} (the daemon knows {count})")
    report.add("VmRSS", "kB", [last.resident])
    report.add("RssAnon", "kB", [last.anonymous])
    report.add("open descriptors", "", [last.descriptors])
    if idle:
        report.add(f"voluntary context switches in {seconds:.0f} s", "",
                   [last.voluntary - first.voluntary])
        report.add(f"involuntary context switches in {seconds:.0f} s", "",
                   [last.involuntary - first.involuntary])
        report.add(f"CPU time in {seconds:.0f} s", "us", [last.cpu_us - first.cpu_us])
    if after != before or count_after != count:
        report.note(f"NOT IDLE: other .NET processes came or went, {after - before} changes; "
                    "in a pid namespace of its own (unshare -pfm --mount-proc) it sees none")


def start(subscription: Subscription, samples: ExitStack) -> list[Sample]:
    """So many processes, all told ready."""
    started = [samples.enter_context(Sample("native-aot")) for _ in range(COUNT)]
    for sample in started:
        subscription.wait_state(sample.pid, "ready")
        sample.wait_main()
    return started


def measure(report: Report, idle: float) -> None:
    """Prints the figures of this file."""
    with Daemon() as daemon:
        subscription = daemon.subscribe()
        subscription.wait_synced()
        measure_state(report, daemon, "No process, one subscriber", idle)
        with ExitStack() as samples:
            started = start(subscription, samples)
            measure_state(report, daemon, f"{COUNT} ready processes, one subscriber", idle)
        for sample in started:
            subscription.wait_state(sample.pid, "gone")
        measure_state(report, daemon, f"After those {COUNT} have ended", 0)
