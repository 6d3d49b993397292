#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what the daemon costs and how soon it tells: run as root, on a quiet machine, by hand.

The daemon is $DISCOVERYD, else build/dotnet-discoveryd; the .NET programs are those that
tests/runtime/samples.py builds. Nothing here is judged: figures of two machines differ, and so do
those of two runs where others work on the same one.
"""

import argparse
import os
import platform
import sys
from pathlib import Path
from unittest import SkipTest

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "runtime")]
sys.dont_write_bytecode = True  # it runs as root, in the user's checkout

import footprint
import latency
import overhead
from figures import Report
from lib.daemon import DISCOVERYD
from lib.require import require_bpf

PARTS = {
    "latency": lambda report, given: latency.measure(report, given.starts),
    "footprint": lambda report, given: footprint.measure(report, given.idle),
    "overhead": lambda report, given: overhead.measure(report, given.rounds),
}


def parse(arguments: list[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", default=list(PARTS),
                        help=f"what to measure, all when left out: {', '.join(PARTS)}")
    parser.add_argument("--starts", type=int, default=100, metavar="N",
                        help="rounds of latency, two starts each (default %(default)s)")
    parser.add_argument("--idle", type=float, default=60, metavar="SECONDS",
                        help="how long to watch an idle daemon (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=21, metavar="N",
                        help="rounds of overhead (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE",
                        help="write every measured value there as well")
    given = parser.parse_args(arguments)
    for part in given.parts:
        if part not in PARTS:
            parser.error(f"{part} is none of {', '.join(PARTS)}")
    return given


def load() -> str:
    """How busy the machine is with all there is."""
    return "load average " + " ".join(f"{value:.2f}" for value in os.getloadavg())


def main(arguments: list[str]) -> int:
    """1 where a part could not be measured."""
    given = parse(arguments)
    if not Path(DISCOVERYD).exists():
        sys.exit(f"{DISCOVERYD} is missing: build it first, or name another in DISCOVERYD")
    report = Report()
    report.note(f"{DISCOVERYD} on {platform.system()} {platform.release()}, {platform.machine()}, "
                f"{os.cpu_count()} CPUs, {load()}")
    skipped = 0
    for part in given.parts:
        try:
            require_bpf()
            PARTS[part](report, given)
        except SkipTest as reason:
            skipped += 1
            report.note(f"{part} is skipped: {reason}")
    report.note(f"in the end: {load()}")
    if given.json:
        report.write(given.json)
    return 1 if skipped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
