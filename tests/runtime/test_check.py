# SPDX-License-Identifier: MIT
"""Real runtimes whose port cannot be reached, for every reason there is: what the daemon says of
them by itself, what `check PID` says, and when they become ready.
"""

import os
import signal
import tempfile
import unittest
from pathlib import Path
from typing import Any

from lib.daemon import Daemon
from lib.require import require_bpf
from programs import Sample

# The longest folder in which the runtime binds a name, however short, and the next one.
LONGEST, TOO_LONG = 93, 94
# Becomes the program behind it, and leaves the file that it leaves itself where it was killed.
LEFT_BEHIND = ["sh", "-c", 'start=$(cut -d " " -f 22 /proc/$$/stat) && '
               ': >"$TMPDIR/dotnet-diagnostic-$$-$start-socket" && exec "$@"', "sh"]


class Checks(unittest.TestCase):
    """A daemon for each, and samples in folders of their own."""

    def setUp(self) -> None:
        require_bpf()

    def folder(self, length: int = 0) -> Path:
        """A new one whose path has this length, where one is given."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        if length:
            folder /= "f" * (length - len(str(folder)) - 1)
            folder.mkdir()
        return folder

    def start(self, name: str, **options: Any) -> Sample:
        """A program whose Main runs."""
        sample = self.enterContext(Sample(name, **options))
        sample.wait_main()
        return sample

    def items(self, daemon: Daemon, sample: Sample) -> dict[str, dict[str, Any]]:
        """What a check says, by step."""
        return {item["name"]: item for item in daemon.call("Check", pid=sample.pid)["items"]}

    def check_without_port(self, sample: Sample, *details: str) -> None:
        """No event told of it, before the daemon or after, and a check says why it has no port."""
        with Daemon() as daemon:
            self.assertNotIn(sample.pid, [process["pid"] for process in
                                          daemon.call("List")["processes"]])
            items = self.items(daemon, sample)
            self.assertEqual(list(items), ["process", "signal", "mapping", "socket"])
            self.assertEqual([item["ok"] for item in items.values()], [True, False, False, False])
            for detail in details:
                self.assertIn(detail, items["socket"]["detail"])


class WithoutPort(Checks):
    """It runs, and has no diagnostic port: no event exists."""

    def test_diagnostics_are_off(self) -> None:
        for name, runtime in (("framework-dependent", "it runs .NET ("),
                              ("self-contained-8", "it runs .NET ("),
                              ("single-file", "it runs .NET (memfd:doublemapper)"),
                              ("native-aot", "or it is NativeAOT and its port is off")):
            with self.subTest(name):
                sample = self.start(name, DOTNET_EnableDiagnostics="0")
                self.check_without_port(sample, "it listens on no Unix socket; ", runtime)

    def test_its_folder_is_missing(self) -> None:
        sample = self.start("self-contained-11", TMPDIR=str(self.folder() / "missing"))
        self.check_without_port(sample, "a TMPDIR that is missing")

    def test_the_path_of_its_folder_is_too_long(self) -> None:
        sample = self.start("self-contained-11", TMPDIR=str(self.folder(TOO_LONG)))
        self.check_without_port(sample, f"longer than {LONGEST} bytes")

    def test_the_name_is_taken_by_what_an_earlier_program_of_the_process_left(self) -> None:
        sample = self.start("self-contained-11", wrapper=LEFT_BEHIND, TMPDIR="/tmp")
        path, = Path("/tmp").glob(f"dotnet-diagnostic-{sample.pid}-*-socket")
        self.addCleanup(path.unlink)
        self.check_without_port(sample, f"the name of its default socket is taken: {path}.")


class Cut(Checks):
    """The runtime cuts a path at 107 bytes, within the name, and is ready all the same."""

    def check(self, name: str) -> None:
        paths = [self.folder(length) for length in (80, LONGEST)]
        before = [self.start(name, TMPDIR=str(path)) for path in paths]
        with Daemon() as daemon:
            subscription = daemon.subscribe()
            after = [self.start(name, TMPDIR=str(path)) for path in map(self.other, paths)]
            for sample in before + after:
                path = subscription.wait_state(sample.pid, "ready")["socketPath"]
                self.assertEqual(len(path), 107)
            self.assertTrue(path.endswith("/dotnet-diagno"), path)
            self.assertTrue(all(item["ok"] for item in self.items(daemon, sample).values()))

    def other(self, path: Path) -> Path:
        """A folder whose path is as long."""
        return self.folder(len(str(path)))

    def test_runtime_8(self) -> None:
        self.check("self-contained-8")

    def test_runtime_11(self) -> None:
        self.check("self-contained-11")

    def test_native_aot_cuts_nothing_and_has_no_port(self) -> None:
        sample = self.start("native-aot", TMPDIR=str(self.folder(80)))
        self.check_without_port(sample, "or had no place (TMPDIR)")


class Ports(Checks):
    """DOTNET_DiagnosticPorts: on Linux a runtime only connects to these; it is found by its own."""

    def check(self, tags: str) -> None:
        folder = self.folder()
        with Daemon() as daemon:
            sample = self.start("self-contained-11", TMPDIR=str(folder),
                                DOTNET_DiagnosticPorts=f"{folder}/port,{tags},nosuspend")
            path, = folder.glob("dotnet-diagnostic-*")
            process = daemon.subscribe().wait_state(sample.pid, "ready")
            self.assertEqual(process["socketPath"], str(path))
            self.assertFalse((folder / "port").exists())

    def test_a_port_to_connect_to_where_nobody_listens(self) -> None:
        self.check("connect")

    def test_a_port_to_listen_at(self) -> None:
        self.check("listen")


class Unreachable(Checks):
    """It has a port that the daemon does not get at."""

    sample = "self-contained-11"

    def test_its_socket_was_deleted_before_it_was_asked(self) -> None:
        folder = self.folder()
        sample = self.start(self.sample, TMPDIR=str(folder))
        path, = folder.glob("dotnet-diagnostic-*")
        path.unlink()
        with Daemon() as daemon:
            process = daemon.subscribe().wait_state(sample.pid, "unreachable")
            self.assertEqual((process["reason"], process["socketPath"]), ("no_socket", str(path)))
            self.assertIn(f"{path}: was deleted", process["detail"])
            item = self.items(daemon, sample)["path"]
            self.assertFalse(item["ok"])
            self.assertIn("was deleted", item["detail"])
            self.assertIn("start the process again", item["detail"])

    def test_its_socket_was_deleted_after_it_answered(self) -> None:
        folder = self.folder()
        with Daemon() as daemon:
            sample = self.start(self.sample, TMPDIR=str(folder))
            subscription = daemon.subscribe()
            process = subscription.wait_state(sample.pid, "ready")
            Path(process["socketPath"]).unlink()
            self.assertEqual(daemon.call("Get", pid=sample.pid)["process"], process)
            self.assertEqual(sample.finish(), 0)
            subscription.wait_state(sample.pid, "gone")
            self.assertNotIn("unreachable", subscription.states(sample.pid))

    def test_stopped_it_is_a_timeout_and_ready_after_it_went_on(self) -> None:
        sample = self.start(self.sample)
        sample.kill(signal.SIGSTOP)
        os.waitid(os.P_PID, sample.pid, os.WSTOPPED | os.WNOWAIT)
        with Daemon() as daemon:
            subscription = daemon.subscribe()
            process = subscription.wait_state(sample.pid, "unreachable")
            self.assertEqual(process["reason"], "timeout")
            self.assertIn("; the process is stopped", process["detail"])
            items = self.items(daemon, sample)
            self.assertIn("run state T: stopped", items["process"]["detail"])
            self.assertFalse(items["answer"]["ok"])
            sample.kill(signal.SIGCONT)
            subscription.wait_state(sample.pid, "ready")


class ShortLived(Checks):
    """A program that ends at once."""

    def test_each_that_opened_its_port_is_told_detected_and_gone(self) -> None:
        with Daemon() as daemon:
            subscription = daemon.subscribe()
            subscription.wait_synced()
            client = daemon.client()
            client.call("Status")
            before = daemon.fds()
            samples = [self.enterContext(Sample("native-aot")) for _ in range(20)]
            for sample in samples:
                sample.process.stdin.close()
            for sample in samples:
                self.assertEqual(sample.wait(), 0)
                subscription.wait_state(sample.pid, "gone")
                self.assertIn(subscription.states(sample.pid),
                              (["detected", "gone"], ["detected", "ready", "gone"]))
            self.assertEqual(client.call("List")["processes"], [])
            self.assertEqual(daemon.fds(), before)


if __name__ == "__main__":
    unittest.main()
