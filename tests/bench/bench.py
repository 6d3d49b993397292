#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what the daemon costs and how soon it tells, beside what people run today.

It runs as root, by `./dev bench`, on a machine that has nothing else to do, and in namespaces of
its own, where no other .NET process is. The daemon is $DISCOVERYD, the measuring program $METER,
else those of build/; the .NET programs are those that tests/runtime/samples.py builds. What was
measured goes into build/bench: bench.json, bench.md and a plot for each comparison; a row stays
there until it is measured anew.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
import traceback
from pathlib import Path
from unittest import SkipTest

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "runtime")]
sys.dont_write_bytecode = True  # it runs as root, in the user's checkout

import plots
import row_brief
import row_guest
import row_idle
import row_latency
import row_load
import row_processes
import row_scan
import row_tax
from figures import Results, Row, elapsed
from lib.apart import HIDE_BUS
from lib.daemon import BUILD, DISCOVERYD
from lib.require import require_bpf, require_root
from meter import METER
from scale import FULL, QUICK, TINY

ROWS = {"tax": row_tax, "guest": row_guest, "latency": row_latency, "scan": row_scan,
        "processes": row_processes, "load": row_load, "brief": row_brief, "idle": row_idle}
SCALES = {"full": FULL, "quick": QUICK, "tiny": TINY}
PID_MAX = Path("/proc/sys/kernel/pid_max")
PIDS = 131072  # for 2,000 processes of 20 threads, and what else there is


def parse(arguments: list[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n", 1)[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", default=list(ROWS),
                        help=f"what to measure, all when left out: {', '.join(ROWS)}")
    parser.add_argument("--quick", dest="scale", action="store_const", const="quick",
                        default="full", help="fewer rounds and shorter: some minutes")
    parser.add_argument("--tiny", dest="scale", action="store_const", const="tiny",
                        help="to see whether it works; the figures mean nothing")
    parser.add_argument("--markdown", action="store_true",
                        help="measure nothing: print what was measured last, as a table")
    parser.add_argument("--output", type=Path, default=BUILD / "bench", metavar="FOLDER",
                        help="where the results go (default %(default)s)")
    parser.add_argument("--apart", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    for row in given.rows:
        if row not in ROWS:
            parser.error(f"{row} is none of {', '.join(ROWS)}")
    return given


def machine() -> str:
    """What the figures are of."""
    model = next((line.split(":", 1)[1].strip() for line in
                  Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
                 platform.machine())
    return f"{os.cpu_count()} CPUs ({model}), {platform.system()} {platform.release()}"


def load() -> str:
    """How busy the machine is with all there is."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def go_apart(arguments: list[str]) -> int:
    """The same in namespaces of its own, with room for so many processes; returns when it ends."""
    require_root()
    before = PID_MAX.read_text()
    try:
        PID_MAX.write_text(str(max(PIDS, int(before))))
        return subprocess.run(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", HIDE_BUS,
             "sh", sys.executable, __file__, "--apart", *arguments], check=False).returncode
    finally:
        PID_MAX.write_text(before)


def measure(name: str, given: argparse.Namespace, results: Results, cpu: int) -> bool:
    """One row; false where it failed. A row that cannot be measured here says why."""
    began = time.monotonic()
    row = Row(name, ROWS[name].TITLE, load())
    try:
        require_bpf()
        ROWS[name].measure(row, SCALES[given.scale], cpu)
    except SkipTest as reason:
        row.note(f"not measured: {reason}")
    except Exception:
        traceback.print_exc()
        row.note(f"FAILED: {traceback.format_exc().splitlines()[-1]}")
        return False
    finally:
        row.note(f"{given.scale} run of {row.entry['when']}, {time.monotonic() - began:.0f} s; "
                 f"load average {row.entry['load']} before, {load()} after")
        results.keep(row)
    return True


def main(arguments: list[str]) -> int:
    """1 where a row failed."""
    given = parse(arguments)
    if given.markdown:
        print(Results(given.output, "").markdown(list(ROWS)))
        return 0
    if not given.apart:
        return go_apart(arguments)
    for program in (DISCOVERYD, METER):
        if not Path(program).exists():
            sys.exit(f"{program} is missing: build it first")
    cpu = max(os.sched_getaffinity(0))
    results = Results(given.output, machine())
    print(f"{DISCOVERYD} on {results.content['machine']}")
    failed = [name for name in given.rows if not measure(name, given, results, cpu)]
    (given.output / "bench.md").write_text(results.markdown(list(ROWS)) + "\n")
    drawn = plots.draw(results.content["rows"], given.output)
    print(f"\n{given.output}: bench.json, bench.md and {len(drawn)} plots, after {elapsed()}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
