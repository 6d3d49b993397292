# SPDX-License-Identifier: MIT
"""A daemon without bpf(2): perf tells it of mappings, and scans at an interval find the rest."""

import ctypes
import mmap
import os
import signal
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from answers import READY, SILENT
from lib.require import require_root
from lib.varlink import TIMEOUT
from scene import DENY, FAKE, Scene

WITHOUT_BPF = [DENY, "bpf", "--"]
BETTER = ["fentry", "kprobe", "syscall-tracepoint", "raw-tracepoint"]
CPUS = sorted(os.sched_getaffinity(0))
SMALL_RING = 4096
RECORD = 88  # bytes of the record of a mapping, at least

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def storm(count: int) -> None:
    """So many mappings on each CPU, of which none is a runtime's."""
    for cpu in CPUS:
        os.sched_setaffinity(0, {cpu})
        for _ in range(count):
            page = libc.mmap(None, 1, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
            libc.munmap(page, 1)
    os.sched_setaffinity(0, CPUS)


@contextmanager
def standing_still(scene: Scene) -> Iterator[None]:
    """Stops the daemon for a while."""
    os.kill(scene.daemon.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, scene.daemon.pid, os.WSTOPPED)  # its parent is told, with SIGSTOP always
    try:
        yield
    finally:
        os.kill(scene.daemon.pid, signal.SIGCONT)


def perf_descriptors(scene: Scene) -> int:
    """How many descriptors of perf the daemon holds."""
    links = [os.readlink(link) for link in Path(f"/proc/{scene.daemon.pid}/fd").iterdir()]
    return links.count("anon_inode:[perf_event]")


def wakeups(scene: Scene) -> int:
    """How often the daemon has waited for something."""
    status = Path(f"/proc/{scene.daemon.pid}/status").read_text()
    return int(status.rpartition("\nvoluntary_ctxt_switches:")[2].split()[0])


class Perf(unittest.TestCase):
    """One daemon for all."""

    @classmethod
    def setUpClass(cls) -> None:
        require_root()
        cls.scene = cls.enterClassContext(Scene(wrapper=WITHOUT_BPF))

    def test_status_says_so_and_why_nothing_better_is_used(self) -> None:
        status = self.scene.status()
        self.assertEqual(status["mechanism"], "perf")
        mechanisms = {mechanism["name"]: mechanism for mechanism in status["mechanisms"]}
        for name in BETTER:
            self.assertIn("EPERM", mechanisms[name]["detail"])
        self.assertTrue(mechanisms["perf"]["used"])
        self.assertGreaterEqual(status["scanIntervalUSec"], 1_000_000)
        attached = {program["name"]: program["attached"] for program in status["programs"]}
        self.assertEqual(attached, {"mapping": True, "listen": False, "exec": True, "scan": False})
        self.assertTrue(any("program listen" in text for text in status["degraded"]))

    def test_a_process_that_starts_is_told_of_by_its_mapping(self) -> None:
        process = self.scene.wait(self.scene.begin(READY), "ready")
        self.assertEqual((process["signal"], process["mappingProtection"]), ("mapping", "---p"))

    def test_a_mapping_of_any_protection_is_one(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(READY), "map rx")
        process = self.scene.wait(fake, "ready")
        self.assertEqual((process["signal"], process["mappingProtection"]), ("mapping", "r-xp"))

    def test_without_a_mapping_it_is_found_by_the_next_scan(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(READY))
        process = self.scene.wait(fake, "ready")
        self.assertEqual((process["signal"], process["socketPath"]), ("scan", fake.sockets[0]))

    def test_it_is_detected_when_it_mapped_the_name_not_when_that_was_read(self) -> None:
        fake = self.scene.start()
        with standing_still(self.scene):
            before = time.clock_gettime_ns(time.CLOCK_REALTIME) // 1000
            fake.begin(READY)
            after = time.clock_gettime_ns(time.CLOCK_REALTIME) // 1000
        detected = self.scene.wait(fake, "ready")["detectedRealtimeUSec"]
        self.assertTrue(before <= detected <= after, (before, detected, after))

    def test_ended_it_is_gone(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        self.assertEqual(fake.finish(), 0)
        self.scene.wait(fake, "gone")
        self.assertEqual(self.scene.states(fake), ["detected", "ready", "gone"])

    def test_another_program_in_its_place_is_gone(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        fake.send("exec /bin/cat")
        self.scene.wait(fake, "gone")
        self.assertEqual(self.scene.listed(pid=fake.pid), {})

    def test_another_program_before_it_answered_is_gone_too(self) -> None:
        fake = self.scene.begin(SILENT)
        fake.wait_connection()
        fake.send("exec /bin/cat")
        self.scene.wait(fake, "gone")
        self.assertEqual(self.scene.states(fake), ["detected", "gone"])

    def test_executing_itself_and_mapping_again_it_has_two_lives(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        fake.send(f"exec {FAKE}")
        fake.wait_restart()
        fake.begin(READY, path=fake.path("dotnet-diagnostic-2-2-socket"))
        self.scene.subscription.wait_for(
            lambda event: event.about(fake.pid, "ready")
            and self.scene.states(fake) == ["detected", "ready", "gone", "detected", "ready"])

    def test_other_programs_that_are_executed_are_not_told_of(self) -> None:
        fake = self.scene.start()
        fake.send("exec /bin/cat")
        self.scene.settle()
        self.assertEqual(self.scene.states(fake), [])

    def test_each_cpu_takes_two_descriptors(self) -> None:
        self.assertEqual(perf_descriptors(self.scene), 2 * os.cpu_count())

    def test_a_storm_of_other_mappings_wakes_it_seldom(self) -> None:
        before = wakeups(self.scene)
        storm(20_000)
        self.scene.settle()
        self.assertLess(wakeups(self.scene) - before, 20_000 * len(CPUS) / 10)

    def test_a_storm_of_other_mappings_keeps_nothing_from_being_told(self) -> None:
        storm(20_000)
        self.scene.wait(self.scene.begin(READY), "ready")


class Loss(unittest.TestCase):
    """Rings that hold little, and a daemon that does not read them for a while."""

    @classmethod
    def setUpClass(cls) -> None:
        require_root()
        cls.scene = cls.enterClassContext(
            Scene(f"--ring-size={SMALL_RING}", wrapper=WITHOUT_BPF))

    def test_what_was_lost_is_counted_and_found_by_a_scan(self) -> None:
        fake = self.scene.start()
        with standing_still(self.scene):
            storm(2 * SMALL_RING // RECORD)
            fake.begin(READY)
        # The kernel tells of a loss with the next record that finds room.
        deadline = time.monotonic() + TIMEOUT
        while self.scene.status()["counters"]["recordsLost"] == 0:
            self.assertLess(time.monotonic(), deadline, "no loss is counted")
            storm(1)
        process = self.scene.wait(fake, "ready")
        self.assertEqual(process["signal"], "scan")
        self.assertGreater(self.scene.status()["counters"]["rescans"], 0)
        # From here on it is as before.
        self.assertEqual(self.scene.wait(self.scene.begin(READY), "ready")["signal"], "mapping")
        self.assertEqual(perf_descriptors(self.scene), 2 * os.cpu_count())


class Forced(unittest.TestCase):
    """The mechanism asked for by its name."""

    def test_perf_beside_the_kernel_programs_that_work(self) -> None:
        with Scene("--mechanism=perf") as scene:
            self.assertEqual(scene.status()["mechanism"], "perf")
            self.assertEqual(scene.wait(scene.begin(READY), "ready")["signal"], "mapping")

    def test_perf_taken_away_is_told_and_scans_take_its_place(self) -> None:
        with Scene("--mechanism=perf", wrapper=[DENY, "perf_event_open", "--"]) as scene:
            status = scene.status()
            self.assertEqual(status["mechanism"], "scan")
            self.assertTrue(any("--mechanism=perf" in text for text in status["degraded"]))
            self.assertEqual(scene.wait(scene.begin(READY), "ready")["signal"], "scan")
