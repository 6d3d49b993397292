# SPDX-License-Identifier: MIT
"""The programs as they are in the packages: hardened, stripped, and of the package's version."""

import io
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from lib.packages import CHECKOUT, DEB, PROGRAMS, RPM, VERSION, run


def files_of(package: Path) -> bytes:
    """The files of a package, as a tar archive."""
    argv = ["dpkg-deb", "--fsys-tarfile", package] if package == DEB else ["rpm2archive", "-"]
    with package.open("rb") as file:
        return subprocess.run(argv, stdin=file, capture_output=True, check=True).stdout


class Programs(unittest.TestCase):
    """Each of the two in each of the packages."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        self.programs = []
        for package in DEB, RPM:
            target = self.folder / package.suffix[1:]
            with tarfile.open(fileobj=io.BytesIO(files_of(package))) as tar:
                tar.extractall(target, filter="data")
            self.programs += [target / program for program in PROGRAMS]

    def test_they_are_hardened(self) -> None:
        for program in self.programs:
            with self.subTest(program=program):
                dynamic = run("readelf", "--wide", "--dynamic", program)
                self.assertRegex(dynamic, r"FLAGS_1.*\bNOW\b.*\bPIE\b")
                self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH|TEXTREL)\)")
                segments = run("readelf", "--wide", "--program-headers", program)
                self.assertIn("GNU_RELRO", segments)
                self.assertRegex(segments, r"GNU_STACK( +\w+){5} RW ")
                symbols = run("readelf", "--wide", "--dyn-syms", program)
                self.assertIn("__stack_chk_fail", symbols)
                self.assertRegex(symbols, r"__(v?snprintf|memcpy|fdelt|read|fprintf)_chk")

    def test_they_are_stripped(self) -> None:
        for program in self.programs:
            with self.subTest(program=program):
                sections = run("readelf", "--wide", "--section-headers", program)
                self.assertNotRegex(sections, r"\.(symtab|debug_\w+|gnu_debuglink)\b")

    def test_they_do_not_know_where_they_were_built(self) -> None:
        for program in self.programs:
            with self.subTest(program=program):
                self.assertFalse(str(CHECKOUT).encode() in program.read_bytes())

    def test_they_say_the_version_of_the_package(self) -> None:
        for program in self.programs:
            with self.subTest(program=program):
                self.assertEqual(run(program, "--version").split()[-1], VERSION)
