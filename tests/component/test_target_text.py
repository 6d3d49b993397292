# SPDX-License-Identifier: MIT
"""What a target shows of itself may hold anything; nothing of it may reach a terminal as it is."""

import os
import re
import unittest
from pathlib import Path

from answers import READY
from lib.subscription import Process
from scene import Fake, Scene, require_kernel

ARGUMENTS_MAX = 4096
HOSTILE = (b"\x1b]0;title\x07\r\n\x7f \xff\xfe \xc3( \xe2\x80\xae \xef\xb7\x90\xef\xbf\xbf \\ "
           b"\xc3\xbc")
SHOWN = (r"\x1b]0;title\x07\x0d\x0a\x7f \xff\xfe \xc3( \xe2\x80\xae \xef\xb7\x90\xef\xbf\xbf \\ "
         "\N{LATIN SMALL LETTER U WITH DIAERESIS}")


class Text(unittest.TestCase):
    """One daemon for all."""

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene())

    def process(self, fake: Fake) -> Process:
        return self.scene.wait(fake.begin(READY), "ready")

    def test_arguments_are_told_as_they_are(self) -> None:
        arguments = ["one", "", "two words", "\N{SNOWMAN}", '"quoted"', ""]
        process = self.process(self.scene.start(*arguments))
        self.assertEqual(process["arguments"][1:], arguments)
        self.assertNotIn("argumentsTruncated", process)

    def test_arguments_that_are_not_text_are_told_escaped(self) -> None:
        process = self.process(self.scene.start(HOSTILE))
        self.assertEqual(process["arguments"][1:], [SHOWN])

    def test_megabytes_of_arguments_are_cut_and_told_to_be(self) -> None:
        process = self.process(self.scene.start(*["x" * 100_000] * 15))
        self.assertTrue(process["argumentsTruncated"])
        size = sum(len(argument) + 1 for argument in process["arguments"])
        self.assertIn(size, (ARGUMENTS_MAX, ARGUMENTS_MAX + 1))

    def test_thousands_of_empty_arguments_are_cut_and_told_to_be(self) -> None:
        process = self.process(self.scene.start(*[""] * 50_000))
        self.assertTrue(process["argumentsTruncated"])
        size = sum(len(argument) + 1 for argument in process["arguments"])
        self.assertIn(size, (ARGUMENTS_MAX, ARGUMENTS_MAX + 1))

    def test_arguments_that_are_as_long_as_can_be_are_not_cut(self) -> None:
        first = self.scene.start()
        room = ARGUMENTS_MAX - len(os.fsencode(first.argv[0])) - 1
        process = self.process(self.scene.start("x" * (room - 1)))
        self.assertEqual(len(process["arguments"][1]), room - 1)
        self.assertNotIn("argumentsTruncated", process)

    def test_a_name_that_is_not_text_is_told_escaped(self) -> None:
        fake = self.scene.start()
        name = b"\x1b[31m) S 1\n\xff"
        fake.do(f"command {name.hex()}")
        process = self.process(fake)
        self.assertEqual(process["command"], r"\x1b[31m) S 1\x0a\xff")
        self.assertEqual(process["startTime"], fake.key)

    def test_a_folder_that_is_not_text_is_told_escaped_and_the_socket_in_it_is_found(self) -> None:
        fake = self.scene.start()
        folder = fake.folder / "\x1b[2J \\ \t"
        folder.mkdir()
        fake.begin(READY, path=f"{folder}/dotnet-diagnostic-1-1-socket")
        process = self.scene.wait(fake, "ready")
        self.assertEqual(process["socketPath"],
                         rf"{fake.folder}/\x1b[2J \\ \x09/dotnet-diagnostic-1-1-socket")

    def test_a_failure_tells_the_path_escaped(self) -> None:
        fake = self.scene.start()
        path = fake.path("dotnet-diagnostic-\x1b[2J-socket")
        fake.do(*fake.open(READY, path=path))
        Path(path).unlink()
        fake.do("map")
        self.assertIn(r"-\x1b[2J-", self.scene.wait(fake, "unreachable")["detail"])

    def test_nothing_of_it_reaches_a_terminal_or_the_log(self) -> None:
        fake = self.scene.start(HOSTILE)
        fake.do(f"command {HOSTILE[:15].hex()}")
        self.process(fake)
        raw = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ufdd0\uffff]")
        for arguments in (["list"], ["show", str(fake.pid)], ["list", "--json=short"]):
            result = self.scene.daemon.ctl(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(str(fake.pid), result.stdout)
            self.assertNotRegex(result.stdout + result.stderr, raw)
        self.assertNotRegex(self.scene.daemon.stderr, raw)
