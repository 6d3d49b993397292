# SPDX-License-Identifier: MIT
"""The completions, each driven by its own shell, beside a daemon with fake processes."""

import unittest
from collections.abc import Callable

from lib.client_test import ClientTest
from lib.require import require_bpf
from shells import SHELLS, fish, zsh

COMMANDS = {"list", "show", "monitor", "wait", "status", "check"}
FILTERS = {"pid=", "uid=", "state=", "unit=", "command=", "entryAssembly=", "runtimeVersion=",
           "containerId="}
STATES = {"detected", "ready", "unreachable", "gone"}

HOSTILE = 'Hostile"},{"id":"x","pid":7000000,"b\\'

Complete = Callable[[str], dict[str, str]]


class CompletionTest(unittest.TestCase):
    """Asks every shell that is here; one that is not is a skipped part of the test."""

    def assert_offers(self, line: str, wanted: set[str], **lines: str) -> None:
        """Each shell offers these; values without the "NAME=" that some put in front."""
        for name, complete in SHELLS.items():
            with self.subTest(shell=name, line=line):
                offered = complete(lines.get(name, line))
                self.assertEqual({self.value(line, word) for word in offered}, wanted)

    @staticmethod
    def value(line: str, word: str) -> str:
        """What a candidate adds behind the last "=" of the line's last word."""
        last = line.rpartition(" ")[2]
        return word.removeprefix(last[:last.rindex("=") + 1]) if "=" in last else word


class Words(CompletionTest):
    """What needs no daemon."""

    def test_commands(self) -> None:
        self.assert_offers("dotnet-discoveryctl ", COMMANDS)
        self.assert_offers("dotnet-discoveryctl s", {"show", "status"})
        self.assert_offers("dotnet-discoveryctl --json short --no-pager s", {"show", "status"})
        self.assert_offers("dotnet-discoveryctl --socket /show --timeout=1 c", {"check"})

    def test_filters(self) -> None:
        for command in ("list", "monitor", "wait"):
            self.assert_offers(f"dotnet-discoveryctl {command} ", FILTERS)
        self.assert_offers("dotnet-discoveryctl list u", {"uid=", "unit="})
        self.assert_offers("dotnet-discoveryctl list state=", STATES)
        self.assert_offers("dotnet-discoveryctl wait pid=1 state=u", {"unreachable"})
        self.assert_offers("dotnet-discoveryctl list uid=roo", {"root"})
        self.assert_offers("dotnet-discoveryctl list unit=", set())

    def test_values(self) -> None:
        for line in ("dotnet-discoveryctl --json=", "dotnet-discoveryctl list --json="):
            self.assert_offers(line, {"short", "pretty", "off"})
        self.assert_offers("dotnet-discoveryctl --json p", {"pretty"})
        self.assert_offers("dotnet-discoveryd --without=", {"mapping", "listen", "exec", "scan"})
        self.assert_offers("dotnet-discoveryd --mechanism=",
                           {"auto", "fentry", "kprobe", "syscall-tracepoint", "raw-tracepoint",
                            "perf", "scan"})
        self.assert_offers("dotnet-discoveryd --log-level ", {"err", "warning", "notice", "info",
                                                              "debug"})
        self.assert_offers("dotnet-discoveryd --max-probes=", set())

    def test_status_takes_nothing(self) -> None:
        self.assert_offers("dotnet-discoveryctl status ", set())

    def test_without_a_daemon_there_are_no_pids_and_no_noise(self) -> None:
        self.assert_offers("dotnet-discoveryctl --socket=/nonexistent show ", set())
        self.assert_offers("dotnet-discoveryctl --socket=/nonexistent list pid=", set())


class Pids(ClientTest, CompletionTest):
    """Those of a daemon at a socket of its own, which the line names."""

    def setUp(self) -> None:
        require_bpf()
        super().setUp()
        fakes = self.fakes()
        # Of different names: zsh shows the description of several as one.
        self.pids = [fakes.spawn_one(assembly=assembly) for assembly in ("Plain", HOSTILE)]
        for pid in self.pids:
            self.watcher.wait_state(pid, "ready")

    def offered(self, complete: Complete, words: str) -> dict[str, str]:
        """Of the fakes alone: other tests have processes too."""
        offered = complete(f"dotnet-discoveryctl {words}")
        own = {str(pid) for pid in self.pids}
        return {self.value(words, word): text for word, text in offered.items()
                if self.value(words, word) in own}

    def assert_all(self, words: str) -> None:
        """Every shell offers every fake's pid."""
        for name, complete in SHELLS.items():
            with self.subTest(shell=name, words=words):
                self.assertEqual(self.offered(complete, words).keys(), {*map(str, self.pids)})

    def test_they_are_those_of_the_daemon_that_the_line_names(self) -> None:
        for option in (f"--socket={self.daemon.socket}", f"--socket {self.daemon.socket}"):
            for words in ("show ", "check ", "list pid=", "wait state=ready pid="):
                self.assert_all(f"{option} {words}")

    def test_show_takes_several(self) -> None:
        first = self.pids[0]
        for name, complete in SHELLS.items():
            with self.subTest(shell=name):
                words = f"--socket={self.daemon.socket} show {first} "
                self.assertIn(str(self.pids[1]), self.offered(complete, words))

    def test_each_is_described_by_its_program(self) -> None:
        plain, hostile = map(str, self.pids)
        for complete in (fish, zsh):
            with self.subTest(shell=complete.__name__):
                offered = self.offered(complete, f"--socket={self.daemon.socket} show ")
                self.assertIn("Plain", offered[plain])
                self.assertIn("Hostile", offered[hostile])

    def test_a_name_makes_no_pid(self) -> None:
        for name, complete in SHELLS.items():
            with self.subTest(shell=name):
                offered = complete(f"dotnet-discoveryctl --socket={self.daemon.socket} show ")
                self.assertNotIn("7000000", offered)
