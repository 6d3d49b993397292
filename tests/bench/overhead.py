# SPDX-License-Identifier: MIT
"""What the daemon's being there costs the system calls of everybody else.

A round is: without, with, without. In between it is there twice, with and without its hook on
listen(2), the order turning round with each round. A ratio is to the mean of the two without; that
of these two to each other is 1 but for the noise of the machine, and is shown beside it.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from figures import Report, median
from lib.daemon import Daemon
from lib.require import require

SOURCE = Path(__file__).with_name("syscalls.c")
BATCHES = 50
ATTEMPTS = 3  # a round that somebody else disturbed is made again, up to so many times the rounds
# What is called, how often in a batch, which is to last a millisecond, and what it is to a reader.
KINDS = {
    "getppid": (10000, "getppid()"),
    "file": (1000, "mmap + munmap of a file"),
    "memfd": (1000, "mmap + munmap of a memfd"),
}


def build(folder: str) -> str:
    """The measuring program, optimised whatever the daemon's build is."""
    compiler = shutil.which("cc")
    require(compiler, "needs a C compiler, cc")
    program = f"{folder}/syscalls"
    subprocess.run([compiler, "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra",
                    str(SOURCE), "-o", program], check=True)
    return program


def run(program: str, cpu: int) -> dict[str, float]:
    """Nanoseconds of one call of each kind, the median of the batches."""
    times = {}
    for kind, (calls, _) in KINDS.items():
        argv = [program, kind, str(cpu), str(BATCHES), str(calls)]
        output = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        times[kind] = median([float(line) for line in output.split()])
    return times


def run_with(program: str, cpu: int, turned: bool) -> list[dict[str, float]]:
    """The same while the daemon runs, and while it does without the hook on listen(2)."""
    order = -1 if turned else 1
    times = []
    for options in ([], ["--without=listen"])[::order]:
        with Daemon(options):
            times.append(run(program, cpu))
    return times[::order]


def others() -> int | None:
    """How many tracepoint programs somebody else has in the kernel; None where nobody can tell."""
    bpftool = shutil.which("bpftool", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if not bpftool:
        return None
    result = subprocess.run([bpftool, "--json", "prog", "list"], capture_output=True, text=True,
                            check=False)
    if result.returncode != 0:
        return None
    return sum(program["type"] == "tracepoint" for program in json.loads(result.stdout))


def ratios(values: list[float], to: list[float]) -> list[float]:
    """Of each to its own."""
    return [value / other for value, other in zip(values, to, strict=True)]


def measure(report: Report, rounds: int) -> None:
    """Prints the figures of this file."""
    cpu = max(os.sched_getaffinity(0))
    found = []  # without, with, with but for listen, without
    tried = 0
    with tempfile.TemporaryDirectory(prefix="discovery-") as folder:
        program = build(folder)
        while len(found) < rounds and tried < ATTEMPTS * rounds:
            tried += 1
            if others():
                continue
            first = run(program, cpu)
            between = run_with(program, cpu, tried % 2 == 1)
            last = run(program, cpu)
            if not others():
                found.append((first, *between, last))

    report.section("What a system call costs while the daemon runs")
    for kind, (_, title) in KINDS.items():
        first, with_it, without_listen, last = (
            [times[part][kind] for times in found] for part in range(4))
        without = [sum(times) / 2 for times in zip(first, last)]
        report.add(f"{title}: with / without", "ratio", ratios(with_it, without))
        report.add("  with all but listen / without", "ratio", ratios(without_listen, without))
        report.add("  with / with all but listen", "ratio", ratios(with_it, without_listen))
        report.add("  without / without", "ratio", ratios(last, first))
        report.add("  without", "ns", without)
        report.add("  with", "ns", with_it)
    if tried > len(found):
        report.note(f"{tried - len(found)} more rounds do not count: somebody else had a "
                    "tracepoint program in the kernel")
    if others() is None:
        report.note("nobody can tell whether others had tracepoint programs: bpftool does not")
