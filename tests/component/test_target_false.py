# SPDX-License-Identifier: MIT
"""Sockets that are not what they seem: handed over, covered, deleted, left behind."""

import os
import socket
import unittest
from pathlib import Path

from answers import READY, reply, script
from scene import Fake, Scene, require_kernel

NOBODY = 65534


class Scenery(unittest.TestCase):
    """One daemon for all, which goes by the mapping alone: whoever listens is no target by that."""

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene("--without=listen"))

    def check(self, fake: Fake, reason: str, detail: str) -> None:
        """That the mapping makes it unreachable, and why."""
        fake.do("map")
        process = self.scene.wait(fake, "unreachable")
        self.assertEqual(process["reason"], reason)
        self.assertIn(detail, process["detail"])


class OfSomebodyElse(Scenery):
    """The daemon connects, sees who listens, and asks nothing."""

    def listener(self, fake: Fake) -> Fake:
        """Another process, that listens where the target's own socket would be."""
        other = self.scene.start()
        other.do(*other.open(READY, path=fake.path()))
        return other

    @staticmethod
    def take(fake: Fake, other: Fake) -> None:
        """The target gets the other one's listening socket."""
        descriptor, = (entry.name for entry in Path(f"/proc/{other.pid}/fd").iterdir()
                       if os.readlink(entry).startswith("socket:"))
        fake.do(f"take {other.pid} {descriptor}")

    def test_a_socket_handed_over_is_still_that_of_whoever_listened(self) -> None:
        fake = self.scene.start()
        other = self.listener(fake)
        self.take(fake, other)
        self.check(fake, "not_owner", f"is served by pid {other.pid}")
        self.assertEqual(other.wait_question(), b"", "the other one was asked")

    def test_a_socket_handed_over_by_one_that_has_ended_is_nobodys(self) -> None:
        fake = self.scene.start()
        other = self.listener(fake)
        self.take(fake, other)
        other.kill()
        other.wait()
        self.check(fake, "not_owner", f"is served by pid {other.pid}")

    def test_a_bind_mount_over_its_own_is_the_other_ones(self) -> None:
        fake, other = self.scene.start(), self.scene.start()
        fake.do(*fake.open(READY))
        other.do(*other.open(READY, path=fake.path("other")))
        fake.do(f"cover {fake.sockets[0]} {other.sockets[0]}")
        self.check(fake, "not_owner", f"is served by pid {other.pid}")
        self.assertEqual(fake.told(), [], "its own, which is covered, was connected to")
        self.assertEqual(other.wait_question(), b"", "the other one was asked")

    def test_a_bind_mount_of_another_users_is_not_connected_to(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(READY))
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(fake.path("other"))
            os.chown(fake.path("other"), NOBODY, NOBODY)
        fake.do(f"cover {fake.sockets[0]} {fake.path('other')}")
        self.check(fake, "not_owner", f"belongs to uid {NOBODY}")

    def test_an_answer_with_the_pid_that_it_has_outside_is_another_ones(self) -> None:
        fake = self.scene.start("--pid-namespace")
        fake.do(*fake.open(script(reply(pid=fake.pid), "close")))
        self.check(fake, "not_owner", f"answers as process {fake.pid}, not 1 (pids as the process")

    def test_an_answer_with_a_pid_that_no_process_has_is_another_ones(self) -> None:
        fake = self.scene.start()
        pid = fake.pid + (1 << 32)
        fake.do(*fake.open(script(reply(pid=pid), "close")))
        self.check(fake, "not_owner", f"answers as process {pid}, not {fake.pid}")


class Deleted(Scenery):
    """The file of a live process's socket is gone: nobody can connect any more."""

    def test_its_folder_deleted_too(self) -> None:
        fake = self.scene.start()
        folder = fake.folder / "tmp"
        folder.mkdir()
        fake.do(*fake.open(READY, path=str(folder / "dotnet-diagnostic-1-1-socket")))
        Path(fake.sockets[0]).unlink()
        folder.rmdir()
        self.check(fake, "no_socket", "deleted")

    def test_one_that_was_ready_stays_so_and_is_not_asked_again(self) -> None:
        fake = self.scene.begin(READY)
        process = self.scene.wait(fake, "ready")
        fake.wait_question()
        Path(fake.sockets[0]).unlink()
        fake.do("map", *fake.open(READY, path=fake.path("dotnet-diagnostic-2-2-socket")))
        self.scene.settle()
        self.assertEqual(self.scene.listed(pid=fake.pid), {fake.pid: process})
        self.assertEqual([line for line in fake.told() if line[0] == "+"][1:], [])


class OfSeveral(Scenery):
    """More than one socket has the name: each is verified, until one answers."""

    def test_one_whose_file_was_deleted_is_passed_over(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(READY, path=fake.path("dotnet-diagnostic-1-1-socket")))
        Path(fake.sockets[0]).unlink()
        fake.begin(READY)
        self.assertEqual(self.scene.wait(fake, "ready")["socketPath"], fake.sockets[1])

    def test_one_that_came_from_another_process_is_passed_over(self) -> None:
        fake, other = self.scene.start(), self.scene.start()
        other.do(*other.open(READY, path=fake.path("dotnet-diagnostic-1-1-socket")))
        OfSomebodyElse.take(fake, other)
        fake.begin(READY)
        self.assertEqual(self.scene.wait(fake, "ready")["socketPath"], fake.sockets[0])

    def test_one_at_which_another_process_answers_is_passed_over(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(script(reply(pid=1), "close"),
                           path=fake.path("dotnet-diagnostic-1-1-socket")))
        fake.begin(READY)
        self.assertEqual(self.scene.wait(fake, "ready")["socketPath"], fake.sockets[1])


if __name__ == "__main__":
    unittest.main()
