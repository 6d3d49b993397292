# SPDX-License-Identifier: MIT
"""What the daemon holds for the processes that there are, and how long it takes to tell of them."""

import re
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from figures import Row, median, ratios
from lib.daemon import Daemon
from meter import Herd, Meter, await_descriptors, cpu_us, pass_time
from scale import Scale

TITLE = "memory, descriptors and snapshots"
IDLE_KIB = 6 * 1024
PROCESS_KIB = 2
DEADLINE = 30  # seconds in which nobody is told anything


class Held(NamedTuple):
    """What it holds at one moment."""

    resident: int  # KiB, as the next
    own: int
    descriptors: int

    @classmethod
    def of(cls, daemon: Daemon) -> "Held":
        """Asks the kernel, so that nothing is held for the question."""
        status = Path(f"/proc/{daemon.pid}/status").read_text()

        def number(name: str) -> int:
            return int(re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)[1])

        return cls(number("VmRSS"), number("RssAnon"), daemon.fds())


def grow(daemon: Daemon, herd: Herd, before: int, count: int, cpu: int) -> int:
    """From so many processes to so many, until all are told ready; how many were not."""
    with Meter("subscribers", cpu, daemon.socket, 1, count, DEADLINE) as subscriber:
        subscriber.numbers()
        herd.spawn(count - before)
        least, _, _ = subscriber.numbers()
        subscriber.numbers()
    return count - int(least)


def take_snapshot(daemon: Daemon, cpu: int) -> tuple[float, int]:
    """Milliseconds until a new subscriber has all, and how many that are."""
    with Meter("subscribers", cpu, daemon.socket, 1) as subscriber:
        us, count = subscriber.numbers()
    return us / 1000, int(count)


def measure_snapshots(row: Row, scale: Scale, cpu: int, daemon: Daemon,
                      count: int) -> tuple[float, float]:
    """With a subscriber that never reads and without; the medians without: how long it takes, and
    what it costs the daemon."""
    alone, beside, spent = [], [], []
    for _ in range(scale.snapshots):
        before = cpu_us(daemon.pid)
        alone.append(take_snapshot(daemon, cpu))
        spent.append((cpu_us(daemon.pid) - before) / 1000)
        silent = daemon.client()
        silent.send("Subscribe", {}, more=True)
        beside.append(take_snapshot(daemon, cpu))
        silent.close()
    row.add(f"{count} processes: time of a snapshot", "ms", [ms for ms, _ in alone])
    row.add(f"{count} processes: the daemon's processor time for a snapshot", "ms", spent)
    row.add(f"{count} processes: time of a snapshot beside one that never reads / alone", "ratio",
            ratios([ms for ms, _ in beside], [ms for ms, _ in alone]))
    row.add(f"{count} processes: missing in a snapshot", "",
            [max(abs(count - number) for _, number in alone + beside)], 0)
    return median([ms for ms, _ in alone]), median(spent)


def measure_starts(row: Row, scale: Scale, cpu: int, daemon: Daemon, count: int) -> float:
    """One more process of .NET beside so many, again and again; the median of what it waits."""
    values, before = [], daemon.fds()
    with (tempfile.TemporaryDirectory(prefix="bench-") as folder, Herd(Path(folder)) as herd,
          Meter("watch", cpu, daemon.socket) as watch):
        assert watch.read_line() == "synced"
        for _ in range(scale.starts):
            pid, (began, _) = herd.one(), herd.go()
            while (line := watch.numbers())[0] != pid:
                pass
            values.append(line[1] - began)
        herd.end()
    await_descriptors(daemon, before)
    row.add(f"{count} processes: listen of another -> ready at a subscriber", "us", values)
    return median(values)


def tell_held(row: Row, title: str, held: Held, goal: float | None = None) -> None:
    """Three lines."""
    row.add(f"{title}: resident", "KiB", [held.resident], goal)
    row.add(f"{title}: of it its own (RssAnon)", "KiB", [held.own])
    row.add(f"{title}: descriptors", "", [held.descriptors])


def measure(row: Row, scale: Scale, cpu: int) -> None:
    """From none to the most, and to none again."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        daemon = stack.enter_context(Daemon(["--log-level=err"]))
        herd = stack.enter_context(Herd(folder))
        pass_time(daemon, scale.settle)
        idle = Held.of(daemon)
        tell_held(row, "no process", idle, IDLE_KIB)
        memory, descriptors, snapshots, served, starts = [], [], [], [], []
        there = 0
        for count in scale.processes:
            row.progress(f"{count} processes")
            lost = grow(daemon, herd, there, count, cpu)
            there = count
            pass_time(daemon, scale.settle)
            held = Held.of(daemon)
            tell_held(row, f"{count} processes", held)
            row.add(f"{count} processes: not told ready", "", [lost], 0)
            memory.append((count, max(held.resident - idle.resident, 0)))
            descriptors.append((count, held.descriptors))
            time, spent = measure_snapshots(row, scale, cpu, daemon, count)
            snapshots.append((count, time))
            served.append((count, spent))
            starts.append((count, measure_starts(row, scale, cpu, daemon, count)))
        row.add("each of the last", "KiB", [memory[-1][1] / memory[-1][0]], PROCESS_KIB)
        herd.end()
        await_descriptors(daemon, idle.descriptors)
        tell_held(row, "after all have ended", Held.of(daemon))
    for name, points in {"memory over that without any": memory, "descriptors": descriptors,
                         "the time of a snapshot": snapshots,
                         "the daemon's processor time for a snapshot": served,
                         "the time until another is ready": starts}.items():
        row.growth(name, points)
    row.curves("memory", "processes", "KiB more than without any", {"resident": memory})
    row.curves("a snapshot", "processes", "milliseconds", {"one subscriber": snapshots})
