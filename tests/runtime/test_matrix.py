# SPDX-License-Identifier: MIT
"""Every runtime from 3.1 to 11, started before the daemon and after it, with its socket in /tmp, in
a TMPDIR of its own, in a /tmp of its own and in a container. Prints the table of what came of it.
"""

import tempfile
import unittest
from pathlib import Path
from typing import Any

import containers
from containers import Container
from lib import matrix
from lib.daemon import Daemon
from lib.matrix import Cells, CellsWithSdk
from lib.require import require_bpf, require_root, require_tool
from lib.subscription import Process
from programs import FOLDER, TIMEOUT, Sample, program

# The samples, and the folder we are in, may be below the /tmp that is hidden here.
HIDE_TMP = 'cd / && mount --bind "$0" /mnt && mount -t tmpfs tmpfs /tmp && exec "$@"'


def tearDownModule() -> None:
    matrix.TABLE.print()


class Runtimes(Cells):
    """All of them at once, with one daemon."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.samples: dict[str, Sample | Container] = {}
        cls.missing: dict[str, unittest.SkipTest] = {}
        cls.begin()

    @classmethod
    def begin(cls) -> None:
        """Starts what is to be started, in its order."""
        raise NotImplementedError

    @classmethod
    def start_daemon(cls) -> None:
        cls.daemon = cls.enterClassContext(Daemon())
        cls.subscription = cls.daemon.subscribe()
        cls.subscription.wait_synced()

    @classmethod
    def start_samples(cls) -> None:
        for name in cls.names:
            try:
                cls.samples[name] = cls.enterClassContext(cls.start(name))
            except unittest.SkipTest as reason:
                cls.missing[name] = reason

    @classmethod
    def start(cls, name: str) -> Sample | Container:
        """One of them, in its place."""
        raise NotImplementedError

    @classmethod
    def wait_samples(cls) -> None:
        """Returns when the Main of each runs."""
        for sample in cls.samples.values():
            sample.wait_main()

    def process(self, name: str) -> tuple[Process, dict[str, Any]]:
        if name in self.missing:
            raise self.missing[name]
        sample = self.samples[name]
        self.subscription.wait_state(sample.pid, "ready", TIMEOUT)
        process = self.daemon.call("Get", pid=sample.pid)["process"]
        self.assertTrue(Path(process["hostSocketPath"]).is_socket())
        return process, program(name)

    def end(self, name: str) -> None:
        sample = self.samples[name]
        self.assertEqual(sample.finish(), 0)
        self.subscription.wait_state(sample.pid, "gone")
        self.assertEqual(self.subscription.states(sample.pid)[-2:], ["ready", "gone"])
        self.assertEqual(len({event.process["id"] for event in self.subscription.of(sample.pid)}),
                         1)

    def test_each_was_asked_once(self) -> None:
        for sample in self.samples.values():
            self.subscription.wait_state(sample.pid, "ready", TIMEOUT)
        counters = {item["name"]: item["value"] for item in self.daemon.call("Status")["counters"]}
        # An attempt that came before the port was open reached nobody.
        self.assertEqual(counters["answered"], len(self.samples))


class Before(Runtimes):
    """Found by the scan."""

    when = "before"
    signals = ("scan",)

    @classmethod
    def begin(cls) -> None:
        cls.start_samples()
        cls.wait_samples()
        cls.start_daemon()


class After(Runtimes):
    """Told of by the kernel: by the listening socket, and by the mapping where there is one."""

    when = "after"
    signals = ("listen", "mapping")

    @classmethod
    def begin(cls) -> None:
        require_bpf()
        cls.start_daemon()
        cls.start_samples()
        cls.wait_samples()


class Host(CellsWithSdk):
    place = "/tmp"

    @classmethod
    def start(cls, name: str) -> Sample:
        return Sample(name, TMPDIR="/tmp")


class TmpDir(CellsWithSdk):
    place = "TMPDIR"

    @classmethod
    def start(cls, name: str) -> Sample:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="discovery-"))
        return Sample(name, TMPDIR=folder)


class PrivateTmp(CellsWithSdk):
    """As PrivateTmp= of a unit has it."""

    place = "private /tmp"

    @classmethod
    def start(cls, name: str) -> Sample:
        require_root()
        unshare = require_tool("unshare")
        wrapper = [unshare, "--mount", "sh", "-c", HIDE_TMP, str(FOLDER)]
        return Sample(name, wrapper, Path("/mnt"), TMPDIR="/tmp")


class Docker:
    """With the samples and the libraries of this machine."""

    place = "Docker"

    @classmethod
    def setUpClass(cls) -> None:
        cls.engine = cls.enterClassContext(containers.docker())
        super().setUpClass()

    @classmethod
    def start(cls, name: str) -> Container:
        app, = program(name, Path("/samples"))["argv"]
        volumes = [f"{FOLDER}:/samples", "/lib:/lib", "/usr:/usr"]
        return cls.engine.run(*(f"--volume={volume}:ro" for volume in volumes),
                              "--entrypoint", app)

    @classmethod
    def wait_samples(cls) -> None:
        """A container has been started when its Main runs."""


class HostBefore(Host, Before, unittest.TestCase):
    pass


class HostAfter(Host, After, unittest.TestCase):
    pass


class TmpDirBefore(TmpDir, Before, unittest.TestCase):
    pass


class TmpDirAfter(TmpDir, After, unittest.TestCase):
    pass


class PrivateTmpBefore(PrivateTmp, Before, unittest.TestCase):
    pass


class PrivateTmpAfter(PrivateTmp, After, unittest.TestCase):
    pass


class DockerBefore(Docker, Before, unittest.TestCase):
    pass


class DockerAfter(Docker, After, unittest.TestCase):
    pass
