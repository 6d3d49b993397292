# SPDX-License-Identifier: MIT
"""What the kernel programs are made of, as the verifier saw them, and how many records a process
that starts is worth."""

import os
import platform
import subprocess
from unittest import TestCase

from bounds import check
from lib.daemon import Daemon
from lib.fakes import Fakes
from lib.require import require, require_bpf

PROGRAMS = os.environ.get("GUARD_PROGRAMS", "build/tests/guard_programs")
MECHANISMS = ["fentry", "kprobe", "syscall-tracepoint", "raw-tracepoint"]
STARTS = 20
KERNEL = tuple(map(int, platform.release().split(".")[:2]))
VERIFIED = "verified" if KERNEL >= (6, 12) else "verified-6.1"


def records(daemon: Daemon) -> int:
    """Those that the kernel programs have sent by now."""
    counters = daemon.call("Status")["counters"]
    return next(counter["value"] for counter in counters if counter["name"] == "records")


class Test(TestCase):
    """Each figure is a line of bounds.txt."""

    @classmethod
    def setUpClass(cls) -> None:
        require_bpf()

    def test_verified_instructions(self) -> None:
        """Of each program, for each mechanism that works on this kernel."""
        for mechanism in MECHANISMS:
            with self.subTest(mechanism):
                self.check_programs(mechanism)

    def check_programs(self, mechanism: str) -> None:
        with Daemon([f"--mechanism={mechanism}"]) as daemon:
            used = daemon.call("Status")["mechanism"]
            require(used == mechanism, f"the mechanism {mechanism} does not work on this kernel")
            lines = subprocess.run([PROGRAMS, str(daemon.pid)], stdout=subprocess.PIPE, text=True,
                                   timeout=60, check=True).stdout.splitlines()
        self.assertTrue(lines, "no kernel program is attached")
        figures = {name: int(verified) for name, verified in map(str.split, lines)}
        require(all(figures.values()), "this kernel does not tell what it verified, before 5.16")
        for name, verified in sorted(figures.items()):
            check(self, f"{VERIFIED}/{name}", verified,
                  "bpf/, at what the program of that name does")

    def test_records(self) -> None:
        """A process that listens and then maps is worth one record each."""
        for what, options, figure in (("listen", "--without=mapping", "records/listen"),
                                      ("mapping", "--without=listen", "records/mapping")):
            with self.subTest(what), Daemon([options]) as daemon, Fakes() as fakes:
                programs = {program["name"]: program for program in
                            daemon.call("Status")["programs"]}
                require(programs[what]["attached"], f"the program {what} does not work here")
                subscription = daemon.subscribe()
                before = records(daemon)
                for pid in fakes.spawn(STARTS):
                    subscription.wait_state(pid, "ready")
                told = records(daemon) - before
                self.assertGreaterEqual(told, STARTS, f"{what}: processes were not told of")
                check(self, figure, told / STARTS, f"bpf/, at what makes a record of {what}")
