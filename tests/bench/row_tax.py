# SPDX-License-Identifier: MIT
"""What the daemon's being there costs the system calls of everybody else.

A round goes through all ways, in an order that turns with it, with nothing before, between and
after them. A ratio is to the mean of the two measurements without anything on either side.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple
from unittest import SkipTest

from figures import Row, median, ratios
from lib.daemon import Daemon
from lib.require import require
from meter import Meter, rival
from scale import Scale

TITLE = "what a system call of somebody else costs"
# How often in a batch, which is to last a millisecond or so, and what it is to a reader.
KINDS = {
    "getppid": (10000, "getppid()"),
    "file": (300, "mmap + munmap of a file"),
    "shmem": (300, "mmap + munmap of a memfd"),
    "memfd": (300, "memfd_create + close"),
    "exec": (2, "fork + exec of true"),
}
# What has nothing to do with what any of ours looks at.
UNCONCERNED = ("getppid", "file", "exec")
RUNGS = ("fentry", "kprobe", "syscall-tracepoint", "raw-tracepoint", "perf", "scan")
TRACEPOINTS = ("syscalls/sys_enter_mmap", "syscalls/sys_enter_listen")
EMPTY = "an empty program on the same tracepoints"
PERF = "perf mmap + mmap_data"
ATTEMPTS = 3  # a round that somebody else disturbed is made again, up to so many times the rounds

Times = dict[str, float]
Way = Callable[[], AbstractContextManager[Any]]


def ask(loops: Meter, batches: int) -> Times:
    """Nanoseconds of one call of each kind, the median of the batches."""
    return {kind: median(loops.measure(kind, batches, calls))
            for kind, (calls, _) in KINDS.items()}


@contextmanager
def rung(name: str) -> Iterator[Daemon]:
    """The daemon with this mechanism; it must be the one that it uses."""
    with Daemon([f"--mechanism={name}"]) as daemon:
        for mechanism in daemon.call("Status")["mechanisms"]:
            require(mechanism["used"] or mechanism["name"] != name,
                    f"{name}: {mechanism.get('detail')}")
        yield daemon


def ways(tell_missing: Callable[[str], None]) -> dict[str, Way]:
    """All that can be had here; what cannot is said."""
    found: dict[str, Way] = {EMPTY: lambda: rival("tracepoint", *TRACEPOINTS),
                             PERF: lambda: rival("perf")}
    for name in RUNGS:
        try:
            with rung(name):
                found[name] = lambda name=name: rung(name)
        except SkipTest as reason:
            tell_missing(f"not measured: {reason}")
    return found


def others() -> int:
    """How many tracepoint programs somebody else has in the kernel, as far as anybody can tell."""
    bpftool = shutil.which("bpftool", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if not bpftool:
        return 0
    output = subprocess.run([bpftool, "--json", "prog", "list"], capture_output=True, text=True,
                            check=False).stdout
    return sum(program["type"] in ("tracepoint", "raw_tracepoint")
               for program in json.loads(output or "[]"))


class Round(NamedTuple):
    """What one round gave: with each way, and the mean of without around it."""

    first: Times
    last: Times
    with_it: dict[str, Times]
    without: dict[str, Times]
    disturbed: bool


def make_round(loops: Meter, found: dict[str, Way], order: list[str], batches: int) -> Round:
    """Goes through all of them."""
    disturbed = others() > 0
    with_it, without = {}, {}
    before = first = ask(loops, batches)
    for name in order:
        with found[name]():
            with_it[name] = ask(loops, batches)
        after = ask(loops, batches)
        without[name] = {kind: (before[kind] + after[kind]) / 2 for kind in KINDS}
        before = after
    return Round(first, before, with_it, without, disturbed or others() > 0)


def make_rounds(found: dict[str, Way], count: int, batches: int, cpu: int,
                progress: Callable[[str], None]) -> list[Round]:
    """So many that nobody disturbed, where that can be had."""
    good: list[Round] = []
    bad: list[Round] = []
    names = list(found)
    with Meter("loops", cpu) as loops:
        while len(good) < count and len(good) + len(bad) < ATTEMPTS * count:
            at = (len(good) + len(bad)) % len(names)
            progress(f"a round; {len(good)} of {count} are done")
            done = make_round(loops, found, names[at:] + names[:at], batches)
            (bad if done.disturbed else good).append(done)
    return (good + bad)[:max(count, len(good))]


def relative(rounds: list[Round], name: str, kind: str) -> list[float]:
    """With it to nothing around it."""
    return ratios([round.with_it[name][kind] for round in rounds],
                  [round.without[name][kind] for round in rounds])


def tell(row: Row, rounds: list[Round], names: list[str], unit: str = "ns",
         place: str = "", goals: dict[str, float] | None = None) -> None:
    """The figures, kind by kind; goals are of rungs at kinds of call that they do not concern."""
    for kind, (_, title) in KINDS.items():
        title = f"{place}{title}"
        row.add(f"{title}: nothing", unit, [round.first[kind] for round in rounds])
        row.add(f"{title}: nothing again / nothing", "ratio",
                ratios([round.last[kind] for round in rounds],
                       [round.first[kind] for round in rounds]))
        for name in names:
            row.add(f"{title}: {name} / nothing", "ratio", relative(rounds, name, kind),
                    (goals or {}).get(name) if kind in UNCONCERNED else None)
        row.bars(title, "ratio to nothing", {f"{title}: {name} / nothing": name for name in names})
    titles = [f"{place}{title}" for _, title in KINDS.values()]
    labels = {f"nothing, {unit}": "nothing", "nothing again / nothing": "nothing again / nothing"}
    labels |= {f"{name} / nothing": f"{name} / nothing" for name in names}
    row.table(titles, {label: [f"{title}: {figure}" for title in titles]
                       for label, figure in labels.items()})
    if disturbed := sum(round.disturbed for round in rounds):
        row.note(f"{disturbed} of {len(rounds)} rounds are DISTURBED: somebody else had a "
                 "tracepoint program in the kernel")


def tell_goals(row: Row, rounds: list[Round], names: list[str], place: str = "") -> None:
    """Each against its rivals, by the cost it adds in the same round."""
    if "syscall-tracepoint" in names:
        for kind, (_, title) in KINDS.items():
            row.add(f"{place}{title}: syscall-tracepoint / empty program", "ratio",
                    ratios(relative(rounds, "syscall-tracepoint", kind),
                           relative(rounds, EMPTY, kind)), 1.05)
    for name in names:
        if name in RUNGS[:4]:
            added = [median(relative(rounds, way, "file")) - 1 for way in (name, PERF)]
            row.add(f"{place}added to mmap + munmap of a file: {name} / {PERF}", "ratio",
                    [added[0] / added[1]], 0.25 if name == best_of(names) else None)


def best_of(names: list[str]) -> str | None:
    """The first rung that works."""
    return next((name for name in RUNGS if name in names), None)


def measure(row: Row, scale: Scale, cpu: int) -> None:
    """One line for each kind of call and each way."""
    found = ways(row.note)
    rounds = make_rounds(found, scale.tax_rounds, scale.tax_batches, cpu, row.progress)
    tell(row, rounds, list(found))
    tell_goals(row, rounds, list(found))
