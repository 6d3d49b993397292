# SPDX-License-Identifier: MIT
"""What is found, or not found, where the diagnostic socket should be."""

import os
import socket
import unittest
from collections.abc import Callable
from pathlib import Path

from answers import READY, SILENT, script
from scene import Fake, Scene, require_kernel

NOBODY = 65534


class Socket(unittest.TestCase):
    """All of one class share a daemon, which has to survive all of them."""

    options: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene(*cls.options))


class InPlaceOfTheSocket(Socket):
    """A target listens, and before it maps its path becomes another thing."""

    options = ("--without=listen",)  # or it would be asked before

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        # All at once, so that their first second is the same one.
        cls.fakes = {change.__name__: cls.begin(change) for change in (
            cls.deleted, cls.symlink, cls.symlink_in_between, cls.fifo, cls.file, cls.folder,
            cls.datagram, cls.stale, cls.other_user)}

    @classmethod
    def begin(cls, change: Callable[[Fake, Path], None]) -> Fake:
        fake = cls.scene.start()
        folder = fake.folder / "tmp"
        folder.mkdir()
        fake.do(*fake.open(READY, path=str(folder / "dotnet-diagnostic-1-1-socket")))
        change(fake, Path(fake.sockets[0]))
        fake.do("map")
        return fake

    @staticmethod
    def deleted(_: Fake, path: Path) -> None:
        path.unlink()

    @staticmethod
    def symlink(_: Fake, path: Path) -> None:
        path.rename(path.with_name("moved"))
        path.symlink_to("moved")

    @staticmethod
    def symlink_in_between(_: Fake, path: Path) -> None:
        path.parent.rename(path.parent.with_name("moved"))
        path.parent.symlink_to("moved")

    @staticmethod
    def fifo(_: Fake, path: Path) -> None:
        path.unlink()
        os.mkfifo(path)

    @staticmethod
    def file(_: Fake, path: Path) -> None:
        path.unlink()
        path.touch()

    @staticmethod
    def folder(_: Fake, path: Path) -> None:
        path.unlink()
        path.mkdir()

    @staticmethod
    def datagram(_: Fake, path: Path) -> None:
        path.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.bind(str(path))

    @staticmethod
    def stale(_: Fake, path: Path) -> None:
        path.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.bind(str(path))

    @staticmethod
    def other_user(_: Fake, path: Path) -> None:
        os.chown(path, NOBODY, NOBODY)

    def check(self, name: str, reason: str, detail: str) -> None:
        fake = self.fakes[name]
        process = self.scene.wait(fake, "unreachable")
        self.assertEqual(process["reason"], reason)
        self.assertEqual(process["socketPath"], fake.sockets[0])
        self.assertIn(f"{fake.sockets[0]}: ", process["detail"])
        self.assertRegex(process["detail"], detail)
        self.assertEqual(fake.told(), [], "it was connected to")

    def test_nothing(self) -> None:
        self.check("deleted", "no_socket", "was deleted: no such file")

    def test_a_symbolic_link_to_the_socket_is_not_followed(self) -> None:
        self.check("symlink", "no_socket", "is a symbolic link")

    def test_a_symbolic_link_to_its_folder_is_not_followed(self) -> None:
        self.check("symlink_in_between", "no_socket", "ELOOP")

    def test_a_fifo(self) -> None:
        self.check("fifo", "no_socket", "is a FIFO")

    def test_a_file(self) -> None:
        self.check("file", "no_socket", "is a file")

    def test_a_folder(self) -> None:
        self.check("folder", "no_socket", "is a folder")

    def test_a_datagram_socket(self) -> None:
        self.check("datagram", "refused", "ECONNREFUSED")

    def test_a_socket_on_which_nobody_listens_any_more(self) -> None:
        self.check("stale", "refused", "ECONNREFUSED")

    def test_a_socket_of_another_user_is_not_connected_to(self) -> None:
        self.check("other_user", "not_owner", f"belongs to uid {NOBODY}")


class InTheirFirstSecond(Socket):
    """A target that is not ready to be asked is asked again, and not called unreachable early."""

    def test_without_a_socket_it_is_detected_for_a_second_and_then_unreachable(self) -> None:
        fake = self.scene.start()
        fake.do("map")
        process = self.scene.wait(fake, "unreachable")
        self.assertEqual(process["reason"], "no_socket")
        self.assertNotIn("socketPath", process)
        self.assertEqual(self.scene.states(fake), ["detected", "unreachable"])

    def test_bound_and_not_listening_it_is_ready_soon_after_it_listens(self) -> None:
        fake = self.scene.start()
        bind, answer, listen = fake.open(READY)
        fake.do(bind, answer, "map")
        self.scene.wait(fake, "detected")
        fake.do(listen)
        self.scene.wait(fake, "ready")
        self.assertEqual(self.scene.states(fake), ["detected", "ready"])

    def test_unreachable_it_is_ready_after_it_listens_without_a_further_signal(self) -> None:
        fake = self.scene.start()
        fake.do("map")
        self.scene.wait(fake, "unreachable")
        fake.do(*fake.open(READY, path=fake.path("app.sock")))
        process = self.scene.wait(fake, "ready")
        self.assertNotIn("reason", process)
        self.assertNotIn("detail", process)
        self.assertEqual(process["socketPath"], fake.sockets[0])

    def test_a_further_signal_makes_a_protocol_error_ready_at_once(self) -> None:
        fake = self.scene.begin(script(b"HTTP/1.1 400 Bad Request\r\n\r\n", "close"), READY)
        self.assertEqual(self.scene.wait(fake, "unreachable")["reason"], "protocol_error")
        fake.do("map")
        self.scene.wait(fake, "ready")


class OfSeveral(Socket):
    """A process with more than one socket."""

    def test_the_default_one_is_asked_and_the_applications_own_is_left_in_peace(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(SILENT, path=fake.path("app.sock")))
        fake.begin(READY)
        self.assertEqual(self.scene.wait(fake, "ready")["socketPath"], fake.sockets[1])
        self.assertNotIn("0", [line[1] for line in fake.told()])

    def test_one_of_another_name_is_asked_where_there_is_no_default_one(self) -> None:
        fake = self.scene.start()
        fake.begin(READY, path=fake.path("app.sock"))
        self.assertEqual(self.scene.wait(fake, "ready")["socketPath"], fake.sockets[0])

    def test_a_decoy_that_is_named_alike_does_not_hide_the_default_one(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open("close", path=fake.path("dotnet-diagnostic-decoy")))
        fake.begin(READY)
        self.assertEqual(self.scene.wait(fake, "ready")["socketPath"], fake.sockets[1])

    def test_a_dsrouters_is_left_in_peace(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(SILENT, path=fake.path("dotnet-diagnostic-dsrouter-1-1-socket")))
        fake.begin(READY)
        self.assertEqual(self.scene.wait(fake, "ready")["socketPath"], fake.sockets[1])
        self.assertNotIn("0", [line[1] for line in fake.told()])


class OfAnotherProcess(Socket):
    """SO_PEERCRED names who listens: it must be the process itself."""

    options = ("--without=listen",)  # or it would be asked before the other one is there

    def test_listened_on_at_its_path_by_another_process_it_is_not_the_owner(self) -> None:
        fake, other = self.scene.start(), self.scene.start()
        fake.do(*fake.open(READY))
        Path(fake.sockets[0]).unlink()
        other.do(*other.open(READY, path=fake.sockets[0]))
        fake.do("map")
        process = self.scene.wait(fake, "unreachable")
        self.assertEqual(process["reason"], "not_owner")
        self.assertIn(f"is served by pid {other.pid}", process["detail"])
        self.assertEqual(other.wait_question(), b"", "the other one was asked")

    def test_a_name_that_says_its_pid_does_not_make_a_socket_its_own(self) -> None:
        fake, other = self.scene.start(), self.scene.start()
        other.do(*other.open(READY, path=fake.path()))
        fake.do("map")
        self.assertEqual(self.scene.wait(fake, "unreachable")["reason"], "no_socket")
        self.assertEqual(other.told(), [], "the other one was connected to")

    def test_inherited_from_a_parent_that_listens_it_is_not_the_owner(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        child = int(fake.do("fork map")[0])
        process = self.scene.wait(child, "unreachable")
        self.assertEqual(process["reason"], "not_owner")
        self.assertIn(f"is served by pid {fake.pid}", process["detail"])
        self.assertEqual(self.scene.states(fake), ["detected", "ready"])
