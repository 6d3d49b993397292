#!/usr/bin/env python3
"""Tells what ctest did: summary.py FOLDER..., build folders that hold a junit.xml of ctest.

A table for each folder with one line for each label, and every skip with its reason. Judges
nothing: that is ctest's exit status.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

# How many cases a test has, as unittest and cmocka tell.
CASES = re.compile(r"^(?:Ran (\d+) tests? in|\[=+\] (?:\w+: )?(\d+) test\(s\) run)", re.MULTILINE)
# What a test says when it skips something, and what cmocka says next (and again at the end).
SKIPPED = re.compile(r"skip(?:ped)?:? +(.+)", re.IGNORECASE)
CMOCKA_SKIPPED = re.compile(r"\[ +SKIPPED +\] (\w+)$")


class Test(NamedTuple):
    """One test of ctest."""

    name: str
    outcome: str  # "passed", "failed" or "skipped"
    cases: int
    skips: list[str]  # of the whole, or of cases in it


def find_skips(output: str) -> list[str]:
    """What a test's output tells of skips in it, each with its reason."""
    skips = []
    names = set()
    said = False  # the line before was a reason
    for line in output.splitlines():
        if match := SKIPPED.match(line):
            skips.append(match[1])
        elif (match := CMOCKA_SKIPPED.match(line)) and match[1] not in names:
            names.add(match[1])
            reason = skips.pop() if said else "no reason given"
            skips.append(f"{match[1]}: {reason}")
        said = bool(SKIPPED.match(line))
    return skips


def read_test(element: ElementTree.Element) -> Test:
    """From ctest's testcase element."""
    output = element.findtext("system-out", "")
    skipped = element.find("skipped")
    skips = find_skips(output)
    if element.get("status") == "run":
        outcome = "passed"
    # ctest says skipped also of a program that is not there.
    elif skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        outcome = "skipped"
        skips = skips or output.strip().splitlines()[-1:] or ["no reason given"]
    else:
        outcome = "failed"
    cases = sum(int(ran or run) for ran, run in CASES.findall(output))
    return Test(element.get("name", ""), outcome, cases, skips)


def read_labels(folder: Path) -> dict[str, str]:
    """The label of each test; the result file does not have it."""
    listing = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"],
                             capture_output=True, check=True).stdout
    labels = {}
    for test in json.loads(listing)["tests"]:
        for value in test.get("properties", []):
            if value["name"] == "LABELS":
                labels[test["name"]] = value["value"][0]
    return labels


def print_table(folder: Path, tests: list[Test], labels: dict[str, str]) -> None:
    """One line for each label, then the skips."""
    groups = defaultdict(list)
    for test in tests:
        groups[labels.get(test.name, "no label")].append(test)
    print(f"\n{str(folder):14}{'tests':>8}{'passed':>8}{'failed':>8}{'skipped':>8}{'cases':>8}")
    for label, group in sorted(groups.items()):
        counts = [sum(test.outcome == outcome for test in group)
                  for outcome in ("passed", "failed", "skipped")]
        numbers = [len(group), *counts, sum(test.cases for test in group)]
        print(f"  {label:12}" + "".join(f"{number:8}" for number in numbers))
    for test in tests:
        for skip in test.skips:
            print(f"  skipped in {test.name}: {skip}")
        if test.outcome == "failed":
            print(f"  FAILED {test.name}")


def main(arguments: list[str]) -> None:
    """Prints a table for each folder."""
    for folder in map(Path, arguments):
        suite = ElementTree.parse(folder / "junit.xml").getroot()
        tests = [read_test(element) for element in suite.iter("testcase")]
        print_table(folder, tests, read_labels(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
