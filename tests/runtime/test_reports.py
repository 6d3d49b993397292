# SPDX-License-Identifier: MIT
"""Situations that others were reported to fail in, with real runtimes. docs/reports.md has them
all, and those of them that other files test already.
"""

import tempfile
import unittest
from pathlib import Path

from lib.daemon import Daemon
from lib.require import require_bpf, require_root, require_tool
from programs import ARGUMENTS, TIMEOUT, Sample

SOCKET_PATH_SIZE = 107
# Of a longer folder's name there is no room for anything that says what the socket is.
LONGEST_FOLDER = 93


class Reports(unittest.TestCase):
    """Each with a daemon of its own, started before."""

    def setUp(self) -> None:
        require_bpf()
        self.daemon = self.enterContext(Daemon())
        self.subscription = self.daemon.subscribe()
        self.subscription.wait_synced()

    def folder(self, length: int) -> str:
        """A folder whose path has this length."""
        outer = self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-"))
        folder = Path(outer) / ("f" * (length - len(outer) - 1))
        folder.mkdir()
        return str(folder)

    def check_cut(self, length: int) -> None:
        """A socket has what is left of the name, and is found."""
        for name in ("self-contained-8", "self-contained-11"):
            with self.subTest(name):
                folder = self.folder(length)
                sample = self.enterContext(Sample(name, TMPDIR=folder))
                process = self.subscription.wait_state(sample.pid, "ready", TIMEOUT)
                whole = f"{folder}/dotnet-diagnostic-{sample.pid}-{process['startTime']}-socket"
                self.assertEqual(process["socketPath"], whole[:SOCKET_PATH_SIZE])
                self.assertEqual(sample.finish(), 0)

    def check_none(self, name: str, length: int) -> None:
        """There is no socket, and check says so."""
        sample = self.enterContext(Sample(name, TMPDIR=self.folder(length)))
        sample.wait_main()
        items = {item["name"]: item for item in
                 self.daemon.call("Check", pid=sample.pid)["items"]}
        self.assertFalse(items["socket"]["ok"])
        self.assertIn("listens on no Unix socket", items["socket"]["detail"])
        self.assertEqual(self.subscription.of(sample.pid), [])

    def test_a_tmpdir_so_long_that_the_name_is_cut_within_the_pid(self) -> None:
        self.check_cut(87)

    def test_a_tmpdir_so_long_that_hardly_anything_is_left_of_the_name(self) -> None:
        self.check_cut(LONGEST_FOLDER)

    def test_a_tmpdir_too_long_for_any_socket_is_told_by_check(self) -> None:
        self.check_none("self-contained-11", LONGEST_FOLDER + 1)

    def test_a_tmpdir_too_long_for_the_whole_name_is_too_long_for_native_aot(self) -> None:
        self.check_none("native-aot", LONGEST_FOLDER)

    def test_suspended_its_arguments_and_its_assembly_are_known(self) -> None:
        for name in ("framework-dependent", "self-contained-8", "self-contained-11"):
            with self.subTest(name):
                sample = self.enterContext(Sample(name, DOTNET_DefaultDiagnosticPortSuspend="1"))
                process = self.subscription.wait_state(sample.pid, "ready", TIMEOUT)
                self.assertEqual(process["arguments"], [*sample.entry["argv"], *ARGUMENTS])
                self.assertEqual(process["entryAssembly"], sample.entry["entryAssembly"])

    def test_in_a_pid_namespace_within_another_it_is_one_of_that(self) -> None:
        require_root()
        inner = [require_tool("unshare"), "--pid", "--fork", "--kill-child", "--mount-proc"]
        sample = self.enterContext(Sample("native-aot", [*inner, *inner]))
        process = self.subscription.wait_for(lambda event: event.kind == "changed").process
        self.assertNotEqual(process["pid"], sample.pid)
        process = self.subscription.wait_state(process["pid"], "ready", TIMEOUT)
        self.assertEqual(process["namespacePid"], 1)
        self.assertRegex(process["socketPath"], "/dotnet-diagnostic-1-")
        self.assertEqual(sample.finish(), 0)
        self.subscription.wait_state(process["pid"], "gone")
