# SPDX-License-Identifier: MIT
"""The tests of the kernel programs, on this kernel: all by the mechanism that is taken by itself,
and those of what a mechanism tells by each other one too; and what the verifier walked of each.
"""

import os
import platform
import subprocess
import sys
import unittest
from pathlib import Path

from lib.require import require

TESTS = Path(os.environ["DISCOVERY_BUILD"]) / "tests"
SOURCES = Path(__file__).resolve().parents[1]
KERNEL = tuple(map(int, platform.release().split(".")[:2]))
NAMES = [file.name.removesuffix("_bpf_test") for file in sorted(TESTS.glob("*_bpf_test"))]
WITHOUT_BPF = ("perf",)
LONGEST = ("ladder", "scan")
OTHERS = ("kprobe", "syscall-tracepoint", "raw-tracepoint")
BY_EACH = ("mapping", "listen")


class Case(unittest.TestCase):
    """Nothing of a test may be skipped: whatever it needs is here."""

    def check(self, name: str, mechanism: str = "auto") -> None:
        with self.subTest(test=name, mechanism=mechanism):
            wrapper = [f"{TESTS}/deny", "bpf", "--"] if name in WITHOUT_BPF else []
            result = subprocess.run([*wrapper, f"{TESTS}/{name}_bpf_test"], text=True, check=False,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT,
                                    env=os.environ | {"DISCOVERY_MECHANISM": mechanism})
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertNotIn("SKIPPED", result.stdout)


class Programs(Case):
    """The kernel programs."""

    def test_by_the_mechanism_that_is_taken(self) -> None:
        for name in NAMES:
            if name not in LONGEST:
                self.check(name)

    def test_by_each_other_one(self) -> None:
        for mechanism in OTHERS:
            for name in BY_EACH:
                self.check(name, mechanism)


class Longest(Case):
    """Those that take as long as all the others."""

    def test_by_the_mechanism_that_is_taken(self) -> None:
        for name in LONGEST:
            self.check(name)


class Guard(unittest.TestCase):
    """The bounds of tests/guard, also those of mechanisms that a machine's own kernel lacks."""

    def test_what_the_verifier_walked(self) -> None:
        require(KERNEL >= (5, 16), "this kernel does not tell what it verified, before 5.16")
        argv = [sys.executable, "-B", SOURCES / "lib/runner.py", SOURCES / "guard/test_kernel.py",
                "Test.test_verified_instructions"]
        result = subprocess.run(argv, check=False, text=True,
                                env=os.environ | {"GUARD_PROGRAMS": f"{TESTS}/guard_programs"},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        print(result.stdout)
        self.assertEqual(result.returncode, 0)
        self.assertNotIn("SKIPPED", result.stdout)
