# SPDX-License-Identifier: MIT
"""Each test that docs/reports.md names exists, and each report there has one or says why not."""

import re
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = re.compile(r"`([\w/]+\.(?:py|c))::(\w+)`")
NO_NEED = "cannot occur: "


def rows() -> Iterator[list[str]]:
    """The cells of each row."""
    for line in (ROOT / "docs/reports.md").read_text().splitlines():
        if line.startswith("| ["):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


class Reports(unittest.TestCase):
    def test_each_test_exists(self) -> None:
        for report, _, tests in rows():
            for file, name in TEST.findall(tests):
                with self.subTest(report):
                    text = (ROOT / "tests" / file).read_text()
                    self.assertRegex(text, rf"(?m)^(?: *(?:def|class)|static void) {name}\(",
                                     f"{file} has no {name}")

    def test_each_report_has_a_test_or_says_why_not(self) -> None:
        for report, _, tests in rows():
            with self.subTest(report):
                self.assertTrue(TEST.search(tests) or tests.startswith(NO_NEED))

    def test_there_are_reports(self) -> None:
        self.assertGreater(len(list(rows())), 20)
