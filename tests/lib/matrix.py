# SPDX-License-Identifier: MIT
"""The matrix of runtimes: which there are, what each lets be known of itself, and how it went."""

import re
import unittest
from collections.abc import Collection
from typing import Any

from lib.subscription import Process

# By age, as the table has them.
RUNTIMES = ("self-contained-3", "self-contained-8", "self-contained-9", "server-10.0.3",
            "server-10.0.5", "framework-dependent", "self-contained-10", "single-file",
            "native-aot", "self-contained-11")
MAPPING_SINCE = (10, 0, 5)
ANSWERS_SINCE = (5,)
"""An older one has a port, and knows none of the questions."""

FIELDS = {"state", "reason", "runtimeVersion", "entryAssembly", "mappingProtection"}


class Cells:
    """A test for each runtime, in one place, started before the daemon or after it."""

    place: str
    when: str
    signals: Collection[str]
    names: tuple[str, ...] = ("self-contained-3", "self-contained-8", "self-contained-9",
                              "self-contained-10", "single-file", "native-aot",
                              "self-contained-11")

    def process(self, name: str) -> tuple[Process, dict[str, Any]]:
        """The process when it is ready, and what samples.py knows of it."""
        raise NotImplementedError

    def end(self, name: str) -> None:
        """Ends it as it should end, and sees that this is told."""
        raise NotImplementedError

    def check(self, name: str) -> None:
        """One cell."""
        TABLE.enter(name, self.place, self.when, "FAILED")
        try:
            process, entry = self.process(name)
        except unittest.SkipTest:
            TABLE.enter(name, self.place, self.when, "skipped")
            raise
        assert isinstance(self, unittest.TestCase)
        version = tuple(map(int, re.findall(r"\d+", entry["runtimeVersion"])))
        expected = {
            "state": "ready",
            "runtimeVersion": entry["runtimeVersion"],
            "entryAssembly": entry["entryAssembly"],
            "mappingProtection": "---p",
        }
        signals = set(self.signals)
        if version < MAPPING_SINCE:
            del expected["mappingProtection"]
            signals.discard("mapping")
        if version < ANSWERS_SINCE:
            del expected["runtimeVersion"], expected["entryAssembly"]
        self.assertEqual({field: process[field] for field in process.keys() & FIELDS}, expected)
        self.assertIn(process["signal"], signals)
        self.end(name)
        TABLE.enter(name, self.place, self.when, process["signal"])
        TABLE.name(name, entry["runtimeVersion"], process.get("mappingProtection", "none"))

    def test_3_1(self) -> None:
        self.check("self-contained-3")

    def test_8(self) -> None:
        self.check("self-contained-8")

    def test_9(self) -> None:
        self.check("self-contained-9")

    def test_10(self) -> None:
        self.check("self-contained-10")

    def test_single_file(self) -> None:
        self.check("single-file")

    def test_native_aot(self) -> None:
        self.check("native-aot")

    def test_11(self) -> None:
        self.check("self-contained-11")


class CellsWithServers(Cells):
    """Where a program with options can run too."""

    names = (*Cells.names, "server-10.0.3", "server-10.0.5")

    def test_10_0_3_that_has_no_mapping_yet(self) -> None:
        self.check("server-10.0.3")

    def test_10_0_5_that_is_the_first_to_have_it(self) -> None:
        self.check("server-10.0.5")


class CellsWithSdk(CellsWithServers):
    """Where the SDK is, which brings a runtime for all programs."""

    names = RUNTIMES

    def test_framework_dependent(self) -> None:
        self.check("framework-dependent")


class Table:
    """What each cell came to: the signal that found the process, or how far it got."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[str, str]] = {}
        self._cells: dict[tuple[str, str], dict[str, str]] = {}

    def enter(self, name: str, place: str, when: str, result: str) -> None:
        """Sets a cell."""
        self._cells.setdefault((place, when), {})[name] = result

    def name(self, name: str, version: str, mapping: str) -> None:
        """Sets what a row begins with."""
        self._names[name] = (version, mapping)

    def print(self) -> None:
        """Prints it."""
        columns = sorted(self._cells, key=lambda column: (column[0], column[1] != "before"))
        rows = [["program", "runtime", "mapping", *(f"{place}, {when}" for place, when in columns)]]
        for name in RUNTIMES:
            cells = [self._cells[column].get(name, "") for column in columns]
            rows.append([name, *self._names.get(name, ("", "")), *cells])
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in [rows[0], ["-" * width for width in widths], *rows[1:]]:
            print("|", " | ".join(cell.ljust(width) for cell, width in zip(row, widths)), "|")


TABLE = Table()
