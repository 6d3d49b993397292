# SPDX-License-Identifier: MIT
"""Where a target may be: cut paths, other folders, roots, mount, network and pid namespaces.

The same ones are found by the kernel's signal as they begin, and by a scan when they ran before.
"""

import unittest
from pathlib import Path

from answers import READY
from lib.subscription import Process
from scene import Cast, Fake, Scene, require_kernel


def plain(cast: Cast) -> Fake:
    return cast.start().begin(READY)


def executable_mapping(cast: Cast) -> Fake:
    """As the first version of the runtime's change had it."""
    fake = cast.start()
    fake.do(*fake.open(READY), "map rx")
    return fake


def cut_to(length: int, cast: Cast) -> Fake:
    """In a folder so long that the runtime cuts the whole path at 107 bytes."""
    fake = cast.start()
    folder = fake.folder / ("f" * (length - len(str(fake.folder)) - 1))
    folder.mkdir()
    name = Path(fake.path()).name
    return fake.begin(READY, path=f"{folder}/{name}"[:107])


def cut_within_the_pid(cast: Cast) -> Fake:
    return cut_to(87, cast)


def cut_as_far_as_can_be(cast: Cast) -> Fake:
    fake = cut_to(93, cast)
    assert fake.sockets[0].endswith("/dotnet-diagno")
    return fake


def chroot(cast: Cast) -> Fake:
    fake = cast.start()
    (fake.folder / "tmp").mkdir()
    path = "/tmp/" + Path(fake.path()).name
    fake.do(f"chroot {fake.folder}")
    return fake.begin(READY, path=path)


def private_tmp(cast: Cast) -> Fake:
    fake = cast.start()
    fake.do("tmpfs /tmp")
    return fake.begin(READY, path="/tmp/" + Path(fake.path()).name)


def network_namespace(cast: Cast) -> Fake:
    fake = cast.start()
    fake.do("network")
    return fake.begin(READY)


def network_namespace_without_a_hint(cast: Cast) -> Fake:
    """Listens behind more descriptors than the kernel side looks at."""
    fake = cast.start()
    fake.do("network", "descriptors 300")
    return fake.begin(READY)


def pid_namespace(cast: Cast) -> Fake:
    fake = cast.start("--pid-namespace")
    assert fake.own_pid == 1
    return fake.begin(READY)


def other_user(cast: Cast) -> Fake:
    fake = cast.start()
    fake.do("user 64001")
    return fake.begin(READY)


def shifted_users(cast: Cast) -> Fake:
    """As in a container whose root is nobody outside."""
    fake = cast.start()
    fake.do("users")
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{fake.pid}/{name}").write_text("0 100000 1000")
    fake.do("user 7")
    return fake.begin(READY)


PLACES = [plain, executable_mapping, cut_within_the_pid, cut_as_far_as_can_be, chroot, private_tmp,
          network_namespace, network_namespace_without_a_hint, pid_namespace, other_user,
          shifted_users]


class Places:
    """One test for each place, and one daemon for all."""

    signal: str

    def process(self, place: str) -> Process:
        """The process, ready, and its socket where it said and where the host reaches it."""
        fake = self.fakes[place]
        process = self.scene.wait(fake, "ready")
        self.assertEqual(process["signal"], self.signal)
        self.assertEqual(process["namespacePid"], fake.own_pid)
        self.assertEqual(process["socketPath"], fake.sockets[0])
        self.assertEqual(process["hostSocketPath"], f"/proc/{fake.pid}/root{fake.sockets[0]}")
        self.assertTrue(Path(process["hostSocketPath"]).is_socket())
        self.assertEqual(process["startTime"], fake.key)
        self.assertEqual(process["executable"], f"{fake.argv[0]}")
        self.assertRegex(process["id"], f"-{fake.pid}-{fake.key}-")
        return process

    def test_a_plain_one(self) -> None:
        self.assertEqual(self.process("plain")["mappingProtection"], "---p")

    def test_a_mapping_that_may_be_executed(self) -> None:
        self.assertEqual(self.process("executable_mapping")["mappingProtection"], "r-xp")

    def test_a_path_that_the_runtime_cut_within_the_pid(self) -> None:
        self.process("cut_within_the_pid")

    def test_a_path_that_the_runtime_cut_as_far_as_can_be(self) -> None:
        self.process("cut_as_far_as_can_be")

    def test_in_a_chroot(self) -> None:
        self.process("chroot")

    def test_in_a_private_tmp(self) -> None:
        self.process("private_tmp")

    def test_in_a_network_namespace(self) -> None:
        self.process("network_namespace")

    def test_in_a_network_namespace_and_found_by_its_table_of_sockets(self) -> None:
        self.process("network_namespace_without_a_hint")

    def test_in_a_pid_namespace(self) -> None:
        self.assertEqual(self.process("pid_namespace")["namespacePid"], 1)

    def test_of_another_user(self) -> None:
        process = self.process("other_user")
        self.assertEqual((process["uid"], process["gid"]), (64001, 64001))

    def test_in_a_user_namespace_its_ids_are_told_as_they_are_outside(self) -> None:
        process = self.process("shifted_users")
        self.assertEqual((process["uid"], process["gid"]), (100007, 100007))


class FoundBeginning(Places, unittest.TestCase):
    """By the kernel's signal."""

    signal = "listen"

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene())
        cls.fakes = {place.__name__: place(cls.scene.cast) for place in PLACES}


class FoundRunning(Places, unittest.TestCase):
    """By the kernel's scan."""

    signal = "scan"
    options: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cast = cls.enterClassContext(Cast())
        cls.fakes = {place.__name__: place(cast) for place in PLACES}
        cls.parent = cast.begin(READY)
        cls.child = int(cls.parent.do("fork")[0])
        cls.late_child = cls.orphan(cast)
        cls.scene = cls.enterClassContext(Scene(*cls.options, cast=cast))

    @staticmethod
    def orphan(cast: Cast) -> int:
        """A child that holds the listening socket of a parent that has ended."""
        parent = cast.begin(READY)
        child = int(parent.do("fork")[0])
        parent.kill()
        parent.wait()
        return child

    def test_a_child_that_inherited_mapping_and_socket_is_not_listed(self) -> None:
        self.scene.wait(self.parent, "ready")
        self.assertEqual(self.scene.listed(pid=self.child), {})
        self.assertTrue(Path(f"/proc/{self.child}").exists())

    def test_a_child_that_outlived_the_owner_of_the_socket_is_not_listed(self) -> None:
        self.assertEqual(self.scene.listed(pid=self.late_child), {})
        self.assertTrue(Path(f"/proc/{self.late_child}").exists())


class FoundRunningWithoutTheKernel(FoundRunning):
    """By reading /proc."""

    options = ("--without=scan",)
