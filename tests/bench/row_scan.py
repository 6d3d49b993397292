# SPDX-License-Identifier: MIT
"""How long it takes to find what runs already, beside the two other ways there are.

One in five of the processes is one of .NET. All three walks run in one pinned process, in turn.
"""

import tempfile
import time
from pathlib import Path

from figures import Row, median, ratios
from lib.daemon import Daemon
from meter import Herd, Meter
from scale import Scale

TITLE = "finding what runs already"
WALKS = {"maps": "the text of every /proc/PID/maps", "vma": "iter/task_vma",
         "source": "the daemon's scan"}
START = "start"
EVERY = 5
DESCRIPTORS = 20
GOAL = 0.1
TURN_US = 1000  # a turn of the loop has at most one read(2)


def measure_size(row: Row, scale: Scale, cpu: int, size: tuple[int, int, int]) -> dict[str, float]:
    """The figures of so many processes; the median of each walk, and of a start of the daemon."""
    count, threads, rounds = size
    times: dict[str, list[float]] = {walk: [] for walk in WALKS}
    found: dict[str, set[int]] = {walk: set() for walk in WALKS}
    starts, turns = [], []
    title = (f"{count} processes of {scale.mappings} mappings and {threads} "
             f"thread{'s' if threads > 1 else ''}")
    row.progress(title)
    with (tempfile.TemporaryDirectory(prefix="bench-") as folder, Herd(Path(folder)) as herd,
          Meter("walks", cpu) as walks):
        herd.spawn(count, EVERY, scale.mappings, DESCRIPTORS, threads)
        for _ in range(rounds):
            for walk, values in times.items():
                us, number = walks.measure(walk)
                values.append(us / 1000)
                found[walk].add(int(number))
            turns.append(walks.measure("turns"))
            before = time.monotonic()
            with Daemon(["--log-level=err"]):
                starts.append((time.monotonic() - before) * 1000)
        herd.end()
    for walk, values in times.items():
        row.add(f"{title}: {WALKS[walk]}", "ms", values)
    row.add(f"{title}: scan / text of maps", "ratio", ratios(times["source"], times["maps"]), GOAL)
    row.add(f"{title}: the longest turn of a scan, by the clock", "us", [turn[0] for turn in turns])
    row.add(f"{title}: the longest turn of a scan, of a processor", "us",
            [turn[1] for turn in turns], TURN_US)
    row.add(f"{title}: turns of a scan", "", [turn[3] for turn in turns])
    row.add(f"{title}: start of the daemon until it is ready", "ms", starts)
    expected = len(range(0, count, EVERY))
    seen = found["source"] | {int(turn[2]) for turn in turns}
    row.add(f"{title}: not found by the scan", "",
            [max(abs(expected - number) for number in seen)], 0)
    return {walk: median(values) for walk, values in times.items()} | {START: median(starts)}


def measure(row: Row, scale: Scale, cpu: int) -> None:
    """Each size, and how the time grows."""
    series: dict[str, list[tuple[float, float]]] = {walk: [] for walk in (*WALKS, START)}
    for size in scale.scan:
        for walk, value in measure_size(row, scale, cpu, size).items():
            series[walk].append((size[0], value))
    row.growth("the scan's time with the processes", series["source"])
    row.growth("the time of a start with the processes", series[START])
    row.curves(TITLE, "processes", "milliseconds",
               {title: series[walk] for walk, title in WALKS.items()})
