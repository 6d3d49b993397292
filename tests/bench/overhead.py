# SPDX-License-Identifier: MIT
"""What the daemon's being there costs the system calls of everybody else.

A round is: without, with, without. Their ratio is with / mean of the two without; that of the two
to each other is 1 but for the noise of the machine, and is shown beside it.
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


def measure(report: Report, rounds: int) -> None:
    """Prints the figures of this file."""
    cpu = max(os.sched_getaffinity(0))
    found = []  # without, with, without
    tried = 0
    with tempfile.TemporaryDirectory(prefix="discovery-") as folder:
        program = build(folder)
        while len(found) < rounds and tried < ATTEMPTS * rounds:
            tried += 1
            if others():
                continue
            first = run(program, cpu)
            with Daemon():
                second = run(program, cpu)
            third = run(program, cpu)
            if not others():
                found.append((first, second, third))

    report.section("What a system call costs while the daemon runs")
    for kind, (_, title) in KINDS.items():
        without = [(first[kind] + third[kind]) / 2 for first, _, third in found]
        with_it = [second[kind] for _, second, _ in found]
        report.add(f"{title}: with / without", "ratio",
                   [there / absent for there, absent in zip(with_it, without)])
        report.add("  without / without", "ratio",
                   [third[kind] / first[kind] for first, _, third in found])
        report.add("  without", "ns", without)
        report.add("  with", "ns", with_it)
    if tried > len(found):
        report.note(f"{tried - len(found)} more rounds do not count: somebody else had a "
                    "tracepoint program in the kernel")
    if others() is None:
        report.note("nobody can tell whether others had tracepoint programs: bpftool does not")
