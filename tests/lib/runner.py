#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one test file: runner.py FILE [unittest options], as CTest does.

Exit status: 0 all well, 1 a failure, 77 nothing ran because every test was skipped. Every skip is
printed again at the end with its reason, so that nothing is left out unseen.
"""

import sys
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ALL_SKIPPED = 77


class Result(unittest.TextTestResult):
    """Counts what passed; unittest itself counts a skipped test as one that ran."""

    passed = 0

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self.passed += 1


def main(arguments: list[str]) -> int:
    """Runs the file named first and returns the exit status."""
    file = Path(arguments[0]).resolve()
    # In place of this script's own folder: the file's siblings, and the package `lib`.
    sys.path[0:1] = [str(file.parent), str(TESTS)]
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
    program = unittest.main(module=file.stem, argv=arguments, testRunner=runner, exit=False)
    result = program.result
    for test, reason in result.skipped:
        print(f"SKIPPED {test.id()}: {reason}")
    if not result.wasSuccessful():
        return 1
    if result.passed:
        return 0
    return ALL_SKIPPED if result.skipped else 1


if __name__ == "__main__":
    sys.dont_write_bytecode = True  # tests run as root, in the user's checkout
    sys.exit(main(sys.argv[1:]))
