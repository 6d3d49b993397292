# SPDX-License-Identifier: MIT
"""The NativeAOT program in namespaces of every kind, as unshare(1) makes them, and in a chroot.

The same ones are told of by the kernel as they begin, and found by a scan when they ran before.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

from lib.child import Child
from lib.daemon import Daemon
from lib.require import require, require_bpf, require_root, require_tool
from lib.subscription import Process
from programs import ENVIRONMENT, TIMEOUT, program

OTHER = 64001
DAYS = 10
TICKS = DAYS * 24 * 3600 * os.sysconf("SC_CLK_TCK")

OTHER_USER = ("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups")
OWN_TMPFS = ("sh", "-c", 'mount -t tmpfs tmpfs "$TMPDIR" && exec "$@"', "sh")

# What executes the program in each place.
PLACES: dict[str, Sequence[str]] = {
    "plain": (),
    "time": ("unshare", "--time", "--boottime", str(DAYS * 24 * 3600), "--fork"),
    "pid": ("unshare", "--pid", "--fork", "--mount-proc"),
    "pids": (*("unshare", "--pid", "--fork", "--mount-proc") * 2,),
    "pid_with_the_proc_of_another": ("unshare", "--pid", "--fork"),
    "user": (*OTHER_USER, "unshare", "--user", "--map-root-user"),
    "net": ("unshare", "--net"),
    "mount": ("unshare", "--mount", *OWN_TMPFS),
    "all": (*OTHER_USER, "unshare", "--user", "--map-root-user", "--mount", "--net", "--ipc",
            "--uts", "--cgroup", "--time", "--boottime", str(DAYS * 24 * 3600), "--pid", "--fork",
            "--mount-proc", *OWN_TMPFS),
}


class Placed(Child):
    """A running sample with this folder as TMPDIR; `pid` is the sample's."""

    def __init__(self, folder: Path, wrapper: Sequence[str], argv: Sequence[str]):
        super().__init__([*wrapper, *argv], env=ENVIRONMENT | {"TMPDIR": str(folder)})
        line = self.read_line(TIMEOUT)
        self.own_pid = int(re.match(r"ready (\d+) ", line)[1])
        self.folder = folder
        while children := Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text():
            self.pid = int(children)


class Place(tempfile.TemporaryDirectory):
    """A folder for one of them, which may be another user. Entered, the sample runs."""

    def __init__(self, name: str):
        super().__init__(prefix="place-")
        Path(self.name).chmod(0o755)
        self._place = name

    def __enter__(self) -> Placed:
        app, = program("native-aot")["argv"]
        folder = Path(super().__enter__())
        shutil.copy(app, folder / "App")
        (folder / "tmp").mkdir()
        (folder / "tmp").chmod(0o1777)
        if self._place == "chroot":
            self._sample = Placed(Path("/tmp"), self._change_root(folder), ["/App"])
        else:
            self._sample = Placed(folder / "tmp", PLACES[self._place], [str(folder / "App")])
        return self._sample

    def __exit__(self, *failure: object) -> None:
        self._sample.__exit__(*failure)
        super().__exit__(*failure)

    @staticmethod
    def _change_root(root: Path) -> list[str]:
        text = subprocess.run(["ldd", root / "App"], capture_output=True, text=True,
                              check=True).stdout
        for library in re.findall(r"(?:=> |^\s*)(/\S+) \(", text, re.MULTILINE):
            copy = root / library.lstrip("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)
        (root / "proc").mkdir()
        return ["unshare", "--mount", "sh", "-c",
                f'mount --bind /proc {root}/proc && exec chroot {root} "$@"', "sh"]


class Placing:
    """One test for each place, and one daemon for all."""

    signals: set[str]

    @classmethod
    def start(cls) -> None:
        require_root()
        require_tool("unshare")
        require_tool("setpriv")
        tried = subprocess.run([*PLACES["all"], "true"], env=os.environ | {"TMPDIR": "/tmp"},
                               capture_output=True, text=True, check=False)
        require(tried.returncode == 0, tried.stderr.strip())
        cls.samples = {name: cls.enterClassContext(Place(name)) for name in (*PLACES, "chroot")}

    def process(self, place: str) -> Process:
        """What is told of the one there; what is the same for all of them holds."""
        sample = self.samples[place]
        process = self.subscription.wait_state(sample.pid, "ready")
        self.assertIn(process["signal"], self.signals)
        self.assertEqual(process["namespacePid"], sample.own_pid)
        self.assertRegex(process["socketPath"],
                         rf"^{sample.folder}/dotnet-diagnostic-{sample.own_pid}-\d+-socket$")
        self.assertEqual(process["hostSocketPath"],
                         f"/proc/{sample.pid}/root{process['socketPath']}")
        self.assertTrue(Path(process["hostSocketPath"]).is_socket())
        return process

    def key(self, process: Process) -> int:
        """The start time as the process itself sees it."""
        return int(process["socketPath"].split("-")[-2])

    def test_in_no_namespace_of_its_own(self) -> None:
        process = self.process("plain")
        self.assertEqual(process["namespacePid"], process["pid"])
        self.assertEqual(self.key(process), process["startTime"])

    def test_in_a_time_namespace_its_start_time_is_another_for_itself(self) -> None:
        process = self.process("time")
        self.assertAlmostEqual(self.key(process), process["startTime"] + TICKS, delta=1)

    def test_in_a_pid_namespace(self) -> None:
        self.assertEqual(self.process("pid")["namespacePid"], 1)

    def test_in_two_pid_namespaces_the_inner_pid_is_told(self) -> None:
        self.assertEqual(self.process("pids")["namespacePid"], 1)
        status = Path(f"/proc/{self.samples['pids'].pid}/status").read_text()
        self.assertEqual(len(re.search(r"^NSpid:(.*)$", status, re.MULTILINE)[1].split()), 3)

    def test_in_a_pid_namespace_with_a_proc_of_outside_it_takes_anothers_start_time(self) -> None:
        process = self.process("pid_with_the_proc_of_another")
        self.assertNotEqual(self.key(process), process["startTime"])

    def test_in_a_user_namespace_its_uid_outside_is_told(self) -> None:
        process = self.process("user")
        self.assertEqual((process["uid"], process["gid"]), (OTHER, OTHER))
        self.assertEqual(Path(process["hostSocketPath"]).stat().st_uid, OTHER)

    def test_in_a_network_namespace(self) -> None:
        self.process("net")

    def test_in_a_mount_namespace_with_a_filesystem_of_its_own(self) -> None:
        process = self.process("mount")
        self.assertFalse(Path(process["socketPath"]).exists())

    def test_in_a_chroot_the_path_is_the_one_inside(self) -> None:
        process = self.process("chroot")
        self.assertFalse(Path(process["socketPath"]).exists())

    def test_in_namespaces_of_every_kind(self) -> None:
        process = self.process("all")
        self.assertEqual((process["uid"], process["namespacePid"]), (OTHER, 1))
        self.assertAlmostEqual(self.key(process), process["startTime"] + TICKS, delta=1)


class FoundStarting(Placing, unittest.TestCase):
    """By the kernel's signal."""

    signals = {"mapping", "listen"}

    @classmethod
    def setUpClass(cls) -> None:
        require_bpf()
        cls.subscription = cls.enterClassContext(Daemon()).subscribe()
        cls.subscription.wait_synced()
        cls.start()


class FoundRunning(Placing, unittest.TestCase):
    """By the kernel's scan."""

    signals = {"scan"}
    options: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        require_bpf()
        cls.start()
        cls.subscription = cls.enterClassContext(Daemon(cls.options)).subscribe()


class FoundRunningWithoutTheKernel(FoundRunning):
    """By reading /proc."""

    options = ("--without=scan",)


if __name__ == "__main__":
    unittest.main()
