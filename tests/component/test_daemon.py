# SPDX-License-Identifier: MIT
"""How the daemon begins and ends, and what it finds at the path of its status socket."""

import os
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from lib.child import readable
from lib.daemon import DISCOVERYD, Daemon
from lib.varlink import TIMEOUT
from scene import Cast, require_kernel


def run(*options: str) -> subprocess.CompletedProcess[str]:
    """A daemon that is expected to end by itself."""
    return subprocess.run([DISCOVERYD, *options], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=TIMEOUT, check=False)


class StatusSocket(unittest.TestCase):
    """The path given by --socket."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        self.path = self.folder / "socket"

    def test_a_second_daemon_ends_and_names_the_first_which_serves_on(self) -> None:
        with Daemon(socket=str(self.path)) as first:
            second = run(f"--socket={self.path}")
            self.assertEqual(second.returncode, 1)
            self.assertIn(f"process {first.pid}", second.stderr)
            self.assertTrue(first.call("Status")["runId"])

    def test_a_stale_socket_is_replaced(self) -> None:
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(self.path))
        with Daemon(socket=str(self.path)) as daemon:
            self.assertTrue(daemon.call("Status")["runId"])

    def test_a_file_is_left_alone(self) -> None:
        self.path.write_text("precious")
        result = run(f"--socket={self.path}")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{self.path} is not a socket", result.stderr)
        self.assertEqual(self.path.read_text(), "precious")

    def test_a_symbolic_link_is_left_alone(self) -> None:
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(self.folder / "stale"))
        self.path.symlink_to("stale")
        self.assertEqual(run(f"--socket={self.path}").returncode, 1)
        self.assertEqual(self.path.readlink(), Path("stale"))
        self.assertTrue((self.folder / "stale").is_socket())

    def test_a_folder_that_is_missing_is_made(self) -> None:
        with Daemon(socket=f"{self.folder}/new/socket") as daemon:
            self.assertTrue(daemon.call("Status")["runId"])
        self.assertEqual((self.folder / "new").stat().st_mode & 0o7777, 0o755)

    def test_a_folder_in_a_missing_one_is_told(self) -> None:
        result = run(f"--socket={self.folder}/missing/new/socket")
        self.assertEqual(result.returncode, 1)
        self.assertIn("ENOENT", result.stderr)

    def test_a_path_that_is_too_long_is_told(self) -> None:
        result = run(f"--socket=/tmp/{'x' * 200}")
        self.assertEqual(result.returncode, 1)
        self.assertIn("ENAMETOOLONG", result.stderr)


class End(unittest.TestCase):
    """Signals that end it, while it serves a client and follows a process."""

    def end_by(self, number: int) -> None:
        require_kernel()
        with Cast() as cast, Daemon() as daemon:
            daemon.subscribe().wait_state(cast.begin().pid, "ready")
            path = Path(daemon.socket)
            self.assertTrue(path.is_socket())
            pidfd = os.pidfd_open(daemon.pid)
            self.addCleanup(os.close, pidfd)
            os.kill(daemon.pid, number)
            self.assertTrue(readable([pidfd], TIMEOUT), "it does not end")
            self.assertFalse(path.exists(), "the status socket is left behind")

    def test_terminated_it_ends_well_and_removes_its_socket(self) -> None:
        self.end_by(signal.SIGTERM)

    def test_interrupted_it_ends_well_and_removes_its_socket(self) -> None:
        self.end_by(signal.SIGINT)

    def test_the_next_run_finds_the_same_processes_under_the_same_ids(self) -> None:
        require_kernel()
        with Cast() as cast:
            with Daemon() as daemon:
                fake = cast.begin()
                first = daemon.subscribe().wait_state(fake.pid, "ready")
                first_run = daemon.call("Status")["runId"]
            with Daemon() as daemon:
                second = daemon.call("Get", pid=fake.pid)["process"]
                self.assertEqual(second["id"], first["id"])
                self.assertNotEqual(daemon.call("Status")["runId"], first_run)
