# SPDX-License-Identifier: MIT
"""Situations that others were reported to fail in. docs/reports.md has them all, and those of them
that other files test already.
"""

import subprocess
import sys
import unittest
from pathlib import Path

from answers import READY
from lib.daemon import Daemon
from scene import Cast, Scene, require_kernel

MAPPINGS = 5000
# What the code generator of a runtime does, for as long as it generates code.
MAP_DOUBLY = f"""
import mmap, os
for _ in range({MAPPINGS}):
    file = os.memfd_create("doublemapper")
    os.ftruncate(file, 4096)
    mmap.mmap(file, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
    os.close(file)
"""


class Reports(unittest.TestCase):
    """One daemon for all."""

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene())

    def test_sockets_left_behind_by_the_killed_are_no_processes_and_hide_none(self) -> None:
        living = self.scene.start()
        with Cast() as others:
            killed = [others.start() for _ in range(3)]
            for fake in killed:
                fake.begin(READY, path=str(living.folder / Path(fake.path()).name))
                self.scene.wait(fake, "ready")
                fake.kill()
                self.scene.wait(fake, "gone")
                self.assertTrue(Path(fake.sockets[0]).is_socket())
        living.begin(READY)
        self.scene.wait(living, "ready")
        with Daemon() as later:
            process = later.subscribe().wait_state(living.pid, "ready")
            self.assertEqual(process["socketPath"], living.sockets[0])
            listed = {process["pid"] for process in later.call("List")["processes"]}
            self.assertTrue(listed.isdisjoint(fake.pid for fake in killed))

    def test_a_pid_that_another_one_begins_with_is_not_taken_for_it(self) -> None:
        short, long = self.scene.start("--pid=3001"), self.scene.start("--pid=30011")
        long.begin(READY, path=str(short.folder / Path(long.path()).name))
        short.begin(READY)
        with Daemon() as later:
            for subscription in (self.scene.subscription, later.subscribe()):
                for fake in (short, long):
                    process = subscription.wait_state(fake.pid, "ready")
                    self.assertEqual(process["socketPath"], fake.sockets[0])

    def test_thousands_of_mappings_of_other_names_make_no_record(self) -> None:
        before = self.records()
        subprocess.run([sys.executable, "-c", MAP_DOUBLY], check=True)
        self.scene.settle()
        self.assertLess(self.records() - before, MAPPINGS / 100)

    def test_who_has_no_socket_and_maps_on_and_on_is_told_once(self) -> None:
        fake = self.scene.start()
        fake.do("map")
        self.scene.wait(fake, "unreachable")
        for _ in range(20):
            fake.do(*["map"] * 50)
            self.scene.client.call("Check", pid=fake.pid)
        self.scene.settle()
        self.assertEqual([event.process["state"] for event in
                          self.scene.subscription.of(fake.pid)], ["detected", "unreachable"])

    def test_a_socket_deleted_before_the_daemon_starts_is_told_to_be(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        Path(fake.sockets[0]).unlink()
        with Daemon() as later:
            process = later.subscribe().wait_state(fake.pid, "unreachable")
            self.assertEqual(process["reason"], "no_socket")
            self.assertIn("was deleted", process["detail"])

    def records(self) -> int:
        """How many the kernel side has sent."""
        return self.scene.status()["counters"]["records"]
