# SPDX-License-Identifier: MIT
"""The NativeAOT program in real containers, found from the host."""

import os
import re
import socket
import tempfile
import unittest
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import containers
from containers import Container, Engine
from lib.daemon import Daemon
from lib.fakes import cgroup
from lib.require import require_bpf
from lib.subscription import Process

# ProcessInfo3, which has no payload.
QUESTION = b"DOTNET_IPC_V1\0" + bytes((20, 0, 4, 8, 0, 0))
LONGEST_FOLDER = 92
"""Of a longer folder there is no socket; in one so long its name is cut to this:"""
CUT_NAME = "dotnet-diagnos"


class InContainers:
    """One engine for all tests of a class, and a daemon for each."""

    engine: Callable[[], AbstractContextManager[Engine]]
    unified = False

    @classmethod
    def setUpClass(cls) -> None:
        require_bpf()
        if cls.unified:
            cls.enterClassContext(containers.unified())
        cls.machine = cls.enterClassContext(cls.engine())

    def run_container(self, *options: str) -> Container:
        return self.enterContext(self.machine.run(*options))

    def check(self, process: Process, container: Container, folder: str = "/tmp") -> None:
        """It is told whose it is and where it can be reached, and it can be."""
        self.assertEqual(process["pid"], container.pid)
        self.assertEqual(process["namespacePid"], 1)
        self.assertEqual(process["containerId"], container.id)
        self.assertIn(container.id, process["cgroup"])
        self.assertRegex(process["socketPath"], rf"^{re.escape(folder)}/dotnet-diagno")
        self.assertEqual(process["hostSocketPath"],
                         f"/proc/{container.pid}/root{process['socketPath']}")
        self.assertTrue(ask(process["hostSocketPath"]).startswith(QUESTION[:14]))

    def test_started_after_the_daemon_it_is_ready_then_gone(self) -> None:
        with Daemon() as daemon:
            subscription = daemon.subscribe()
            subscription.wait_synced()
            with self.machine.run() as container:
                process = subscription.wait_state(container.pid, "ready")
                self.assertIn(process["signal"], ("mapping", "listen"))
                self.check(process, container)
                self.assertEqual(process["executable"], containers.APP)
                self.assertEqual(process["socketPath"],
                                 f"/tmp/dotnet-diagnostic-1-{process['startTime']}-socket")
            subscription.wait_state(container.pid, "gone")

    def test_started_before_the_daemon_it_is_ready(self) -> None:
        container = self.run_container()
        with Daemon() as daemon:
            process = daemon.subscribe().wait_state(container.pid, "ready")
            self.assertEqual(process["signal"], "scan")
            self.check(process, container)
            listed = daemon.call("List", filter={"containerId": container.id[:12] + "*"})
            self.assertEqual([found["pid"] for found in listed["processes"]], [container.pid])

    def test_for_a_daemon_in_a_cgroup_namespace_its_container_is_the_same(self) -> None:
        """As a daemon in a container of its own has one; what is beside that begins with "/.."."""
        container = self.run_container()
        with cgroup(self.machine.folder.name) as files:
            enter = "".join(f"echo $$ >{file} && " for file in files)
            wrapper = ("sh", "-c", f'{enter} exec unshare --cgroup "$@"', "sh")
            with Daemon(wrapper=wrapper) as daemon:
                process = daemon.subscribe().wait_state(container.pid, "ready")
                self.assertRegex(process["cgroup"], "^/[.][.]/")
                self.check(process, container)

    def test_of_another_user_it_is_that_user(self) -> None:
        container = self.run_container("--user", "64001:64002")
        with Daemon() as daemon:
            process = daemon.subscribe().wait_state(container.pid, "ready")
            self.check(process, container)
            self.assertEqual((process["uid"], process["gid"]), (64001, 64002))

    def test_on_one_volume_each_of_two_has_its_own_socket(self) -> None:
        """Both are pid 1; their names differ by when they started."""
        with Daemon() as daemon, ExitStack() as both, volume() as (path, options):
            subscription = daemon.subscribe()
            started = [both.enter_context(self.machine.run(*options)) for _ in range(2)]
            told = [subscription.wait_state(container.pid, "ready") for container in started]
            for process, container in zip(told, started):
                self.check(process, container, folder=path)
            self.assertNotEqual(told[0]["socketPath"], told[1]["socketPath"])
            self.assertNotEqual(told[0]["runtimeCookie"], told[1]["runtimeCookie"])

    def test_on_one_volume_a_second_one_whose_name_is_taken_has_no_port(self) -> None:
        """CoreCLR cuts both names to the same, so the second cannot bind. It is not taken for the
        first, whose socket it sees at the path that would be its own."""
        with Daemon() as daemon, ExitStack() as both, volume(LONGEST_FOLDER) as (path, options):
            subscription = daemon.subscribe()
            first, second = (both.enter_context(self.machine.run(*options, sample="single-file"))
                             for _ in range(2))
            process = subscription.wait_state(first.pid, "ready")
            self.check(process, first, folder=path)
            self.assertEqual(process["socketPath"], f"{path}/{CUT_NAME}")
            self.assertTrue(Path(f"/proc/{second.pid}/root{path}/{CUT_NAME}").is_socket())
            items = {item["name"]: item for item in
                     daemon.call("Check", pid=second.pid)["items"]}
            self.assertFalse(items["socket"]["ok"])
            self.assertIn("listens on no Unix socket", items["socket"]["detail"])
            listed = daemon.call("List")["processes"]
            self.assertNotIn(second.pid, [process["pid"] for process in listed])


def ask(path: str) -> bytes:
    """What comes of the question there, reached as docs/subscribing.md says."""
    file = os.open(path, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(20)
            connection.connect(f"/proc/self/fd/{file}")
            connection.sendall(QUESTION)
            return connection.recv(4096)
    finally:
        os.close(file)


class volume(tempfile.TemporaryDirectory):
    """A folder of the host that is TMPDIR, at a path of this length, in containers that are run
    with its options."""

    def __init__(self, length: int = 10):
        super().__init__(prefix="volume-")
        self.path = "/" + "v" * (length - 1)

    def __enter__(self) -> tuple[str, list[str]]:
        folder = super().__enter__()
        return self.path, ["--volume", f"{folder}:{self.path}", "--env", f"TMPDIR={self.path}"]


class Docker(InContainers, unittest.TestCase):
    """With the hierarchies of cgroups that the machine has."""

    engine = staticmethod(containers.docker)


class DockerUnified(Docker):
    """With the unified hierarchy only."""

    unified = True


class Podman(InContainers, unittest.TestCase):
    """With the hierarchies of cgroups that the machine has."""

    engine = staticmethod(containers.podman)


class PodmanUnified(Podman):
    """With the unified hierarchy only."""

    unified = True


if __name__ == "__main__":
    unittest.main()
