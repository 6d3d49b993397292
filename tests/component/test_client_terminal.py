# SPDX-License-Identifier: MIT
"""dotnet-discoveryctl on a terminal: what a process wrote is escaped there, colours are its own."""

import errno
import os
import pty
import re
import select
import subprocess
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from lib.client_test import ClientTest
from lib.daemon import DISCOVERYCTL
from lib.require import require_bpf
from lib.varlink import TIMEOUT

# Clears the screen, sets the title, goes back in the line, rings; the same with C1 controls, in
# UTF-8 and not; turns the direction of writing; ends a line.
HOSTILE = "\x1b[2J\x1b]0;title\x07\x08\r\x7f\u009b31m\u202e\n\t\\x"
COMMAND = "\x1b[31m\x07\n\u009b\xad"  # at most 15 bytes
COLOUR = re.compile(rb"\x1b\[(?:0|4|32|33|31;1|90)m")
MAY_NOT_SHOW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f"
                          "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

ENVIRONMENT = {key: value for key, value in os.environ.items()
               if key not in ("NO_COLOR", "LESS", "PAGER", "SYSTEMD_PAGER")}
ENVIRONMENT |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": "cat"}


class Terminal:
    """The other side of a terminal that passes every byte as it is."""

    def __init__(self, descriptor: int):
        self.descriptor = descriptor
        self.shown = b""

    def read(self) -> bool:
        """Takes what comes next; False once nobody has the terminal open any more."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        assert poll.poll(TIMEOUT * 1000), "nothing is written"
        try:
            data = os.read(self.descriptor, 65536)
        except OSError as error:
            assert error.errno == errno.EIO
            return False
        self.shown += data
        return bool(data)

    def read_until(self, text: str) -> None:
        """Until this is there."""
        deadline = time.monotonic() + TIMEOUT
        while text.encode() not in self.shown:
            assert self.read() and time.monotonic() < deadline, f"no {text} in {self.shown!r}"


class OnTerminal(ClientTest):

    def setUp(self) -> None:
        require_bpf()
        super().setUp()
        self.hostile = self.fakes(HOSTILE, HOSTILE.encode("latin-1", "replace") + b"\xff\xfe")
        self.pid = self.hostile.spawn_one(command=COMMAND, assembly=HOSTILE + self.hostile.assembly,
                                          version=HOSTILE)
        self.process = self.watcher.wait_state(self.pid, "ready")

    @contextmanager
    def ctl(self, *arguments: str, **environment: str) -> Iterator[Terminal]:
        """It, with a terminal for all three of its standard files."""
        ours, theirs = pty.openpty()
        try:
            tty.setraw(theirs)
            argv = [DISCOVERYCTL, f"--socket={self.daemon.socket}", *arguments]
            with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs,
                                  env=ENVIRONMENT | environment) as process:
                os.close(theirs)
                theirs = -1
                try:
                    yield Terminal(ours)
                finally:
                    process.kill()
        finally:
            os.close(ours)
            if theirs >= 0:
                os.close(theirs)

    def shown(self, *arguments: str, **environment: str) -> bytes:
        """All that it writes."""
        with self.ctl(*arguments, **environment) as terminal:
            while terminal.read():
                pass
            return terminal.shown

    def assert_safe(self, shown: bytes) -> str:
        """Nothing in there but text, ends of lines and the program's own colours."""
        text = COLOUR.sub(b"", shown).decode()  # UTF-8 throughout
        self.assertIsNone(MAY_NOT_SHOW.search(text), repr(text))
        return text

    def test_tables_and_cards_are_safe(self) -> None:
        for arguments in (["list"], ["list", "--no-legend"], ["show", str(self.pid)],
                          ["check", str(self.pid)], ["status"], ["list", "--json=pretty"],
                          ["show", str(self.pid), "--json=short"], ["-j"]):
            with self.subTest(arguments):
                text = self.assert_safe(self.shown(*arguments))
                if arguments[0] == "show":
                    self.assertIn(r"\x1b[2J", text.replace(r"\\", "\\"))

    def test_arguments_and_names_are_shown_escaped(self) -> None:
        text = self.assert_safe(self.shown("show", str(self.pid)))
        self.assertIn(self.process["entryAssembly"], text)
        self.assertIn(self.process["command"], text)
        for argument in self.process["arguments"][-2:]:
            self.assertIn(argument, text)
        self.assertIn(r"\x1b[2J\x1b]0;title\x07\x08\x0d\x7f\xc2\x9b31m", text)
        self.assertIn(r"\xff\xfe", text)

    def test_a_live_view_is_safe(self) -> None:
        with self.ctl("monitor", f"pid={self.pid}") as terminal:
            terminal.read_until("waiting for more")
            self.hostile.end(self.pid)
            terminal.read_until("gone")
            text = self.assert_safe(terminal.shown)
        self.assertIn(str(self.pid), text)

    def test_its_words_about_what_was_asked_are_safe_too(self) -> None:
        for arguments in (["list", f"state={HOSTILE}"], ["list", f"entryAssembly={HOSTILE}"]):
            with self.subTest(arguments):
                self.assert_safe(self.shown(*arguments))

    def test_colours_only_where_they_are_wanted_and_can_be_shown(self) -> None:
        listed = ["list", f"pid={self.pid}"]
        self.assertRegex(self.shown(*listed), COLOUR)
        self.assertRegex(self.shown(*listed, NO_COLOR=""), COLOUR)
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            with self.subTest(**environment):
                self.assertNotIn(b"\x1b", self.shown(*listed, **environment))
        for command in ("list", "status", "check"):
            result = subprocess.run([DISCOVERYCTL, f"--socket={self.daemon.socket}", command],
                                    env=ENVIRONMENT, capture_output=True, check=False)
            self.assertTrue(result.stdout)
            self.assertNotIn(b"\x1b", result.stdout + result.stderr)
