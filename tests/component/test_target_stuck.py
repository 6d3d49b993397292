# SPDX-License-Identifier: MIT
"""Processes that make whoever looks at them wait in the kernel, for good."""

import os
import stat
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from answers import READY
from lib.child import Child
from lib.daemon import BUILD, Daemon
from lib.require import require
from lib.varlink import Client
from scene import Scene, require_kernel

FAKE_FILES = os.environ.get("FAKE_FILES", str(BUILD / "tests" / "fake_files"))
FUSE = os.makedev(10, 229)


class Files(Child):
    """One running fake_files.c."""

    def __init__(self, kind: str, device: Path, folder: Path):
        super().__init__([FAKE_FILES, kind, str(device), str(folder)])
        self.target = int(self._line())
        """The process that is stuck, or makes others so."""

    def wait_held(self) -> None:
        """Returns when the server was asked what it does not answer."""
        assert self._line() == "held"

    def _line(self) -> str:
        line = self.read_line()
        if line.startswith("no: "):
            reason = line.removeprefix("no: ")
            self.__exit__()
            require(False, f"this machine does not let a user do it: {reason}")
        return line


@contextmanager
def files(kind: str) -> Iterator[Files]:
    """Such a process, with a device of its own, which every user may open on most machines."""
    with tempfile.TemporaryDirectory(prefix="fake-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        device = folder / "fuse"
        os.mknod(device, stat.S_IFCHR, FUSE)
        device.chmod(0o666)
        with Files(kind, device, folder) as child:
            yield child
            child.finish()


class Stuck(unittest.TestCase):
    """A daemon for each, which the process tries to stop."""

    def setUp(self) -> None:
        require_kernel()
        # A target listens before all is as it is to be, and maps after that.
        self.scene = self.enterContext(Scene("--without=listen"))

    def check_others(self) -> None:
        """That everybody else is served as ever."""
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        self.assertIn(fake.pid, self.scene.listed())
        self.assertIn("counters", self.scene.status())

    def check_stuck(self, kind: str) -> None:
        with files(kind) as child:
            child.wait_held()
            self.scene.wait(child.target, "detected")
            self.check_others()
            process = self.scene.wait(child.target, "unreachable")
            self.assertEqual(process["reason"], "timeout")
            self.assertIn("blocks in the kernel", process["detail"])
            self.assertGreaterEqual(self.scene.status()["counters"]["looksStuck"], 1)
            items = self.scene.client.call("Check", pid=child.target)["items"]
            self.assertEqual(items[0]["name"], "process")
            self.check_others()
        self.scene.wait(child.target, "gone")

    def test_an_execve_that_waits_for_a_file_system(self) -> None:
        self.check_stuck("exec")

    def test_a_socket_in_an_overlay_above_one(self) -> None:
        self.check_stuck("overlay")

    def test_a_check_of_one_that_nobody_named(self) -> None:
        with files("quiet") as child, Client(self.scene.daemon.socket) as client:
            child.wait_held()
            client.send("Check", {"pid": child.target})
            self.check_others()
            items = {item["name"]: item for item in client.recv_message()["parameters"]["items"]}
            self.assertTrue(items["process"]["ok"])
            self.assertFalse(items["socket"]["ok"])
            self.assertIn("blocks in the kernel", items["socket"]["detail"])


class Ending(unittest.TestCase):
    """The daemon is told to end while a look is stuck."""

    # A sanitizer looking for leaks would stop every thread first, and wait for that as well.
    ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0"}

    def test_it_does_not_wait(self) -> None:
        require_kernel()
        with Daemon(env=self.ENVIRONMENT) as daemon, files("exec") as child:
            subscription = daemon.subscribe()
            child.wait_held()
            subscription.wait_state(child.target, "unreachable")
            daemon.stop()


if __name__ == "__main__":
    unittest.main()
