# SPDX-License-Identifier: MIT
"""A daemon without bpf(2) and perf_event_open(2): nothing tells it of anything, it has to look."""

import unittest

from answers import READY
from lib.require import require_root
from scene import DENY, Scene


class Scan(unittest.TestCase):
    """One daemon for all."""

    @classmethod
    def setUpClass(cls) -> None:
        require_root()
        cls.scene = cls.enterClassContext(
            Scene(wrapper=[DENY, "bpf,perf_event_open", "--"]))

    def test_status_says_so_and_why_nothing_better_is_used(self) -> None:
        status = self.scene.status()
        self.assertEqual(status["mechanism"], "scan")
        for mechanism in status["mechanisms"]:
            if mechanism["name"] != "scan":
                self.assertIn("EPERM", mechanism["detail"])
        self.assertGreaterEqual(status["scanIntervalUSec"], 1_000_000)
        self.assertLessEqual(status["scanIntervalUSec"], 60_000_000)
        self.assertFalse(any(program["attached"] for program in status["programs"]))

    def test_a_process_that_starts_is_found_by_a_scan(self) -> None:
        fake = self.scene.begin(READY)
        process = self.scene.wait(fake, "ready")
        self.assertEqual((process["signal"], process["mappingProtection"]), ("scan", "---p"))
        # Scans that follow have nothing to tell of it.
        told = len(self.scene.subscription.of(fake.pid))
        rescans = self.scene.status()["counters"]["rescans"]
        self.scene.wait_counter("rescans", rescans + 2)
        self.assertEqual(len(self.scene.subscription.of(fake.pid)), told)

    def test_ended_it_is_gone_without_a_scan(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        self.assertEqual(fake.finish(), 0)
        self.scene.wait(fake, "gone")

    def test_a_process_with_another_name_for_its_socket_is_found_too(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(READY, path=fake.path("dotnet-diagnostic-1-2-socket")))
        self.scene.wait(fake, "ready")

    def test_one_that_listens_later_is_found_later(self) -> None:
        fake = self.scene.start()
        rescans = self.scene.status()["counters"]["rescans"]
        self.scene.wait_counter("rescans", rescans + 2)
        self.assertEqual(self.scene.states(fake), [])
        fake.begin(READY)
        self.scene.wait(fake, "ready")


class Forced(unittest.TestCase):
    """The mechanism asked for by its name, and kernels without the system calls."""

    def test_scan_although_better_ones_work(self) -> None:
        with Scene("--mechanism=scan") as scene:
            self.assertEqual(scene.status()["mechanism"], "scan")
            self.assertEqual(scene.wait(scene.begin(READY), "ready")["signal"], "scan")

    def test_a_kernel_without_the_system_calls_is_told_apart(self) -> None:
        with Scene(wrapper=[DENY, "--errno=ENOSYS", "bpf,perf_event_open", "--"]) as scene:
            status = scene.status()
            self.assertEqual(status["mechanism"], "scan")
            for mechanism in status["mechanisms"]:
                if mechanism["name"] != "scan":
                    self.assertIn("ENOSYS", mechanism["detail"])
