# SPDX-License-Identifier: MIT
"""More processes than the daemon may follow: of one user, and of all together."""

import os
import signal
import unittest

from answers import READY
from scene import Fake, Scene, require_kernel

STORMY, SAME, OTHER = "64010", 64010, 64011


class Storm(unittest.TestCase):
    """Each with a daemon of its own."""

    def setUp(self) -> None:
        require_kernel()

    def begin_as(self, scene: Scene, uid: int) -> Fake:
        fake = scene.start()
        fake.do(f"user {uid}")
        return fake.begin(READY)

    def wait_calm(self, scene: Scene, fake: Fake) -> None:
        """Once there is room again, the process that was turned away is found by a rescan."""
        process = scene.wait(fake, "ready")
        self.assertEqual(process["signal"], "scan")
        self.assertEqual(process["mappingProtection"], "---p")
        status = scene.status()
        self.assertNotIn("degraded", status)
        self.assertGreater(status["counters"]["rescans"], 0)

    def check_quota(self, scene: Scene, count: int, limit: int) -> None:
        """A storm by one user takes that user's part of the room and no more."""
        storm = scene.start()
        storm.do(f"storm {count} {STORMY}")
        turned_away = self.begin_as(scene, SAME)
        # Those begin last: when they are ready, all of the storm has been dealt with.
        for uid in (OTHER, 0):
            scene.wait(self.begin_as(scene, uid), "ready")

        self.assertEqual(len(scene.listed(uid=SAME)), limit)
        self.assertEqual(scene.subscription.of(turned_away.pid), [])
        status = scene.status()
        self.assertGreaterEqual(status["counters"]["refusedQuota"], count - limit)
        self.assertIn("more processes than may be followed", " ".join(status["degraded"]))

        storm.do("calm")
        self.wait_calm(scene, turned_away)
        self.assertEqual(list(scene.listed(uid=SAME)), [turned_away.pid])
        self.assertLess(scene.daemon.stderr.count("more processes than may be followed"), 3)

    def test_300_mappings_of_one_user_leave_room_for_others_and_are_told(self) -> None:
        with Scene("--max-processes=400") as scene:
            self.check_quota(scene, 300, 100)

    def test_5000_mappings_of_one_user_leave_room_for_others_and_are_told(self) -> None:
        with Scene("--max-processes=8000") as scene:
            self.check_quota(scene, 5000, 2000)

    def test_a_full_registry_lists_no_more_and_says_so_until_there_is_room(self) -> None:
        with Scene("--max-processes=16") as scene:
            storm = scene.start()
            storm.do("storm 40 0")
            turned_away = scene.begin(READY)
            scene.wait_counter("refusedFull", 40 + 1 - 16)
            self.assertEqual(len(scene.listed()), 16)
            self.assertEqual(scene.subscription.of(turned_away.pid), [])
            self.assertIn("more processes than may be followed",
                          " ".join(scene.status()["degraded"]))
            storm.do("calm")
            self.wait_calm(scene, turned_away)

    def test_more_at_once_than_the_ring_holds_are_counted_and_found_by_a_rescan(self) -> None:
        with Scene("--ring-size=4096") as scene:
            os.kill(scene.daemon.pid, signal.SIGSTOP)
            fakes = [scene.begin(READY) for _ in range(40)]
            os.kill(scene.daemon.pid, signal.SIGCONT)
            for fake in fakes:
                scene.wait(fake, "ready")
            self.assertGreater(scene.status()["counters"]["recordsLost"], 0)
            self.assertGreater(scene.status()["counters"]["rescans"], 0)
