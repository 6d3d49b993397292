# SPDX-License-Identifier: MIT
"""What one event costs in wire and core: instructions, allocations and memory, counted by
callgrind and by the program itself, and how that grows with their number."""

import os
import platform
import re
import subprocess
from functools import cache
from math import log2
from typing import NamedTuple
from unittest import TestCase

from bounds import check
from lib.require import require, require_tool

WORK = os.environ.get("GUARD_WORK", "build/tests/guard_work")
TIMEOUT = 120

# How many events, by case; twice as many are done too.
WIRE = {"record": 1000, "answer": 500, "call": 500, "reply": 500, "text": 1000, "proc": 500}
CORE = {"life": 1500, "again": 1500, "retry": 1500, "walk": 1500}
SOURCES = {
    "record": "daemon/wire/record.c", "answer": "daemon/wire/ipc.c and text.c",
    "call": "daemon/wire/varlink.c", "reply": "daemon/wire/varlink.c",
    "text": "daemon/wire/text.c", "proc": "daemon/wire/procfs_text.c and cgroup.c",
    "life": "daemon/core, from signal to exit", "again": "merge_signal() in daemon/core/registry.c",
    "retry": "feed_timer() in daemon/core/registry.c and deadlines.c",
    "walk": "daemon/core/lives.c",
}


class Cost(NamedTuple):
    """Of a run of the program."""

    instructions: int
    allocations: int
    held: int


@cache
def cost(case: str, count: int) -> Cost:
    """Of so many events of one case, and of what surrounds them."""
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", WORK,
                          case, str(count)], capture_output=True, text=True, timeout=TIMEOUT,
                         check=False)
    assert run.returncode == 0, run.stderr
    allocations, held = map(int, run.stdout.split())
    return Cost(int(re.search(r"Collected : (\d+)", run.stderr)[1]), allocations, held)


class Test(TestCase):
    """Each figure is a line of bounds.txt."""

    @classmethod
    def setUpClass(cls) -> None:
        other = os.environ.get("GUARD_OTHER_BUILD")
        require(not other, f"the bounds are those of the build that is shipped: {other}")
        require(platform.machine() == "x86_64", "the bounds are those of x86-64")
        require_tool("valgrind")

    def check_case(self, case: str, count: int, grows: bool) -> None:
        nothing, some, twice = (cost(case, n) for n in (0, count, 2 * count))

        def of_one(name: str) -> float:
            return (getattr(twice, name) - getattr(some, name)) / count

        where = f"{SOURCES[case]}, with: valgrind --tool=callgrind {WORK} {case} {2 * count}"
        check(self, f"instructions/{case}", round(of_one("instructions")), where)
        check(self, f"allocations/{case}", round(of_one("allocations"), 2), where)
        if not grows:
            return
        growth = log2((twice.instructions - nothing.instructions)
                      / (some.instructions - nothing.instructions))
        check(self, f"growth/{case}", round(growth, 3), where)
        check(self, f"bytes/{case}", round(of_one("held")), where)

    def test_wire(self) -> None:
        for case, count in WIRE.items():
            with self.subTest(case):
                self.check_case(case, count, grows=False)

    def test_core(self) -> None:
        for case, count in CORE.items():
            with self.subTest(case):
                self.check_case(case, count, grows=True)
