# SPDX-License-Identifier: MIT
"""dotnet-discoveryctl on a terminal: what a process wrote is escaped there, colours are its own."""

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import tty
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
               if key not in ("NO_COLOR", "COLUMNS", "PAGER") and "LESS" not in key
               and not key.startswith("SYSTEMD_")}
ENVIRONMENT |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": "cat"}


def set_width(descriptor: int, columns: int) -> None:
    """Gives a terminal so many columns."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))


class Terminal:
    """The other side of a terminal that passes every byte as it is."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]):
        self.descriptor = descriptor
        self.process = process
        self.shown = b""

    def resize(self, columns: int) -> None:
        """Gives it so many columns."""
        set_width(self.descriptor, columns)

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
    def ctl(self, *arguments: str, columns: int = 200, stderr: int | None = None,
            **environment: str) -> Iterator[Terminal]:
        """It, with a terminal for its standard files."""
        ours, theirs = pty.openpty()
        try:
            tty.setraw(theirs)
            set_width(theirs, columns)
            argv = [DISCOVERYCTL, f"--socket={self.daemon.socket}", *arguments]
            with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=stderr or theirs,
                                  env=ENVIRONMENT | environment) as process:
                os.close(theirs)
                theirs = -1
                try:
                    yield Terminal(ours, process)
                finally:
                    process.kill()
        finally:
            os.close(ours)
            if theirs >= 0:
                os.close(theirs)

    def shown(self, *arguments: str, **options: Any) -> bytes:
        """All that it writes."""
        with self.ctl(*arguments, **options) as terminal:
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
        self.assertRegex(self.shown(*listed, SYSTEMD_COLORS="auto-16"), COLOUR)
        for environment in ({"NO_COLOR": "1"}, {"NO_COLOR": ""}, {"TERM": "dumb"}, {"TERM": ""},
                            {"SYSTEMD_COLORS": "0"}, {"SYSTEMD_COLORS": "off"},
                            {"SYSTEMD_COLORS": "auto-256", "NO_COLOR": "1"}):
            with self.subTest(**environment):
                self.assertNotIn(b"\x1b", self.shown(*listed, **environment))
        for value in ("1", "yes", "16", "256", "24bit"):
            self.assertRegex(self.shown(*listed, SYSTEMD_COLORS=value, NO_COLOR="1", TERM="dumb"),
                             COLOUR)
        self.assertNotIn(b"\x1b", self.shown(*listed, stderr=subprocess.DEVNULL))
        forced = subprocess.run([DISCOVERYCTL, f"--socket={self.daemon.socket}", *listed],
                                env=ENVIRONMENT | {"SYSTEMD_COLORS": "1"}, capture_output=True,
                                check=True)
        self.assertRegex(forced.stdout, COLOUR)
        for command in ("list", "status", "check"):
            result = subprocess.run([DISCOVERYCTL, f"--socket={self.daemon.socket}", command],
                                    env=ENVIRONMENT, capture_output=True, check=False)
            self.assertTrue(result.stdout)
            self.assertNotIn(b"\x1b", result.stdout + result.stderr)


def columns_of(line: str) -> int:
    """That a line takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)


class Width(OnTerminal):

    def lines(self, shown: bytes) -> list[str]:
        """Without colours."""
        return COLOUR.sub(b"", shown).decode().splitlines()

    def test_no_line_is_wider_than_the_terminal(self) -> None:
        fakes = self.fakes()
        pid = fakes.spawn_one(assembly="日本語のアプリケーション." * 8)
        self.watcher.wait_state(pid, "ready")
        for columns in (300, 100, 80, 60, 40, 25):
            for arguments in (["list", "--no-legend"], ["show", str(pid)], ["check"],
                              ["status", "--all"]):
                with self.subTest(arguments, columns=columns):
                    lines = self.lines(self.shown(*arguments, columns=columns))
                    self.assertTrue(lines)
                    self.assertLessEqual(max(map(columns_of, lines)), columns, lines)

    def test_the_environment_knows_it_better(self) -> None:
        for columns, width in (("60", 60), ("no", 90), ("0", 90), ("60x", 90)):
            lines = self.lines(self.shown("list", "--no-legend", columns=90, COLUMNS=columns))
            self.assertEqual(max(map(columns_of, lines)), width)

    def test_a_live_view_follows_the_terminal(self) -> None:
        fakes = self.fakes()
        name = f"entryAssembly=*{fakes.assembly}"
        with self.ctl("monitor", name, "--no-legend", columns=80) as terminal:
            for columns in (80, 50, 80, 120):
                terminal.resize(columns)
                terminal.shown = b""
                pid = fakes.spawn_one(assembly="x" * 100 + fakes.assembly)
                terminal.read_until(f" {pid} ")
                terminal.read_until("\n")
                line, = self.lines(terminal.shown)
                self.assertIn(columns_of(line), range(columns - 8, columns + 1))  # a short detail

    def test_what_is_cut_says_so(self) -> None:
        shown = self.shown("list", "--no-legend", columns=70).decode()
        self.assertIn("\u2026", shown)
        shown = self.shown("list", "--no-legend", columns=70, LC_ALL="C").decode()
        self.assertIn("...", shown)


class Pager(OnTerminal):

    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.daemon.folder)
        self.pager = self.program("pager-of-user", 'echo "PAGER $# $1 $LESS $LESSSECURE '
                                                   '$LESSCHARSET"; exec cat')

    def program(self, name: str, text: str) -> str:
        """A shell script."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def paged(self, *arguments: str, **environment: str) -> str:
        """All that is seen, with no pager named but in `environment`."""
        if "SYSTEMD_PAGER" not in environment:
            environment = {"SYSTEMD_PAGERSECURE": "0", "PAGER": self.pager} | environment
            environment["SYSTEMD_PAGER"] = environment["PAGER"]
        return self.shown(*arguments, **environment).decode()

    def test_which(self) -> None:
        self.assertIn("PAGER 0  FRSXMK  utf-8\n", self.paged("status"))
        self.assertIn("PAGER 1 arg ", self.paged("status", PAGER=f" {self.pager}  arg "))
        self.assertNotIn("PAGER", self.paged("status", SYSTEMD_PAGER="cat", PAGER=self.pager,
                                             SYSTEMD_PAGERSECURE="0"))
        for none in ("", " ", "cat", " cat "):
            self.assertNotIn("PAGER", self.paged("status", PAGER=none))
        for environment in ({"TERM": "dumb"}, {"stderr": subprocess.DEVNULL}):
            self.assertNotIn("PAGER", self.paged("status", **environment))
        self.assertNotIn("PAGER", self.paged("status", "--no-pager"))
        self.assertNotIn("PAGER", self.paged("wait", f"pid={self.pid}"))
        for command in (["list"], ["show", str(self.pid)], ["check"], ["--help"], ["-j"]):
            self.assertIn("PAGER", self.paged(*command))

    def test_what_it_is_told(self) -> None:
        self.assertIn("PAGER 0  -X  latin1\n",
                      self.paged("status", SYSTEMD_LESS="-X", SYSTEMD_LESSCHARSET="latin1"))
        self.assertIn("PAGER 0  FRSXMK 1 utf-8\n", self.paged("status", SYSTEMD_PAGERSECURE="1"))
        self.assertIn("PAGER 0  FRSXMK  utf-8\n", self.paged("status", LESSSECURE="1"))

    def test_only_a_trusted_one(self) -> None:
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        self.program("bin/less", 'echo "LESS $LESSSECURE"; exec cat')
        self.program("bin/pager", 'echo "SYSTEM $LESSSECURE"; exec cat')
        path = f"{folder}:{os.environ['PATH']}"
        for said in ("maybe", ""):
            shown = self.paged("status", PATH=path, SYSTEMD_PAGERSECURE=said)
            self.assertIn("LESS 1\n", shown)
            self.assertNotIn("PAGER", shown)
        self.assertIn("SYSTEM \n", self.paged("status", PATH=path, PAGER="/missing"))
        self.assertIn("LESS 1\n", self.paged("status", PATH=path, PAGER="/missing",
                                             SYSTEMD_PAGERSECURE="1"))

    def test_nothing_is_lost_where_none_can_be_executed(self) -> None:
        for pager in ("/missing", "/"):
            shown = self.paged("list", PATH="/missing", PAGER=pager)
            self.assertIn(str(self.pid), shown)
            self.assertIn("listed.", shown)
        self.assertIn("Failed to execute '/'", shown)

    def test_the_exit_status_is_kept(self) -> None:
        """Whatever the pager's is, and where it leaves without having read."""
        for pager in (self.pager, self.program("failing", "cat; exit 5"),
                      self.program("leaving", "exec <&-; exit 5")):
            for command, status in ((["show", str(self.pid), "5000000"], 3), (["status"], 0)):
                with self.ctl(*command, SYSTEMD_PAGER=pager, SYSTEMD_PAGERSECURE="0") as terminal:
                    while terminal.read():
                        pass
                    self.assertEqual(terminal.process.wait(TIMEOUT), status)

    def test_the_interrupt_is_the_pagers_where_it_takes_it(self) -> None:
        gate = str(self.folder / "gate")
        os.mkfifo(gate)
        pager = self.program("waiting", f"cat; echo paging; read line < {gate}")
        for less, status in (("FRSXM", 0), ("FRSXMK", -signal.SIGINT)):
            with self.ctl("status", SYSTEMD_PAGER=pager, SYSTEMD_PAGERSECURE="0",
                          SYSTEMD_LESS=less) as terminal:
                terminal.read_until("paging")
                terminal.process.send_signal(signal.SIGINT)
                if status == 0:
                    Path(gate).write_text("\n")
                self.assertEqual(terminal.process.wait(TIMEOUT), status)
