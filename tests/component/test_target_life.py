# SPDX-License-Identifier: MIT
"""How lives begin and end: exits, stops, execve, fork, pids used again."""

import signal
import time
import unittest
from pathlib import Path

import answers
from answers import READY, SILENT, script
from lib.subscription import Process
from scene import FAKE, Scene, require_kernel

BURST = 200
TICK = 0.01
TWO_LIVES = ["detected", "ready", "gone", "detected", "ready"]


class Life(unittest.TestCase):
    """One daemon for all."""

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene())

    def wait_next_life(self, first: Process) -> Process:
        """The process as it was first told to be ready in another life of the same pid."""
        return self.scene.subscription.wait_for(
            lambda event: event.about(first["pid"], "ready")
            and event.process["id"] != first["id"]).process

    def test_ready_and_then_ended_it_is_gone(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        self.assertEqual(fake.finish(), 0)
        process = self.scene.wait(fake, "gone")
        self.assertEqual(process["runtimeVersion"], "10.0.0-fake", "gone tells what was known")
        self.assertEqual(self.scene.states(fake), ["detected", "ready", "gone"])

    def test_ended_in_place_of_an_answer_it_is_gone_and_was_never_unreachable(self) -> None:
        fake = self.scene.begin("exit")
        self.scene.wait(fake, "gone")
        self.assertEqual(self.scene.states(fake), ["detected", "gone"])

    def test_ended_within_its_answer_it_is_gone_and_was_never_unreachable(self) -> None:
        fake = self.scene.begin(script(answers.reply()[:50], "exit"))
        self.scene.wait(fake, "gone")
        self.assertEqual(self.scene.states(fake), ["detected", "gone"])

    def test_killed_while_silent_it_is_gone_at_once(self) -> None:
        fake = self.scene.begin(SILENT)
        fake.wait_connection()
        fake.kill()
        self.scene.wait(fake, "gone")
        self.assertEqual(self.scene.states(fake), ["detected", "gone"])

    def test_stopped_it_is_a_timeout_that_says_so_and_ready_when_it_goes_on(self) -> None:
        fake = self.scene.start()
        fake.send(*fake.open(READY), "map", "stop")
        process = self.scene.wait(fake, "unreachable")
        self.assertEqual(process["reason"], "timeout")
        self.assertIn("; the process is stopped", process["detail"])
        fake.kill(signal.SIGCONT)
        self.scene.wait(fake, "ready")
        self.assertEqual(self.scene.states(fake), ["detected", "unreachable", "ready"])

    def test_killed_while_stopped_it_is_gone(self) -> None:
        fake = self.scene.start()
        fake.send(*fake.open(READY), "map", "stop")
        self.scene.wait(fake, "detected")
        fake.kill()
        self.scene.wait(fake, "gone")

    def test_another_program_in_its_place_is_another_life_and_not_listed(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        fake.send("exec /bin/cat")
        self.scene.wait(fake, "gone")
        self.assertEqual(self.scene.listed(pid=fake.pid), {})
        self.assertTrue(Path(f"/proc/{fake.pid}").exists())

    def test_another_program_in_its_place_before_it_answered_is_gone_too(self) -> None:
        fake = self.scene.begin(SILENT)
        fake.wait_connection()
        fake.send("exec /bin/cat")
        self.scene.wait(fake, "gone")
        self.assertEqual(self.scene.states(fake), ["detected", "gone"])
        self.assertEqual(self.scene.listed(pid=fake.pid), {})

    def test_executing_itself_and_mapping_again_it_has_two_lives(self) -> None:
        fake = self.scene.begin(READY)
        first = self.scene.wait(fake, "ready")
        fake.send(f"exec {FAKE}")
        fake.wait_restart()
        # Its own stale file is in the way, as it is for a runtime: another name.
        fake.begin(READY, path=fake.path("dotnet-diagnostic-2-2-socket"))
        second = self.wait_next_life(first)
        self.assertEqual(second["startTime"], first["startTime"])
        self.assertEqual(self.scene.states(fake), TWO_LIVES)
        self.assertEqual(self.scene.listed(pid=fake.pid), {fake.pid: second})

    def test_a_pid_used_again_is_another_process(self) -> None:
        fake = self.scene.begin(READY)
        first = self.scene.wait(fake, "ready")
        pid, end = fake.pid, time.clock_gettime(time.CLOCK_BOOTTIME) + 2 * TICK
        fake.kill()
        fake.wait()
        self.scene.wait(pid, "gone")
        while time.clock_gettime(time.CLOCK_BOOTTIME) < end:
            pass  # start times are told apart by ticks
        again = self.scene.start(f"--pid={pid}")
        self.assertEqual(again.pid, pid)
        again.begin(READY)
        second = self.wait_next_life(first)
        self.assertEqual(second["startTime"], again.key)
        self.assertEqual(self.scene.states(again), TWO_LIVES)
        self.assertEqual(self.scene.listed(pid=pid), {pid: second})

    def test_a_pid_used_again_by_a_process_without_a_signal_is_not_listed(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        pid = fake.pid
        fake.kill()
        fake.wait()
        again = self.scene.start(f"--pid={pid}")
        again.do(*again.open(READY, path=again.path("app.sock")))
        self.scene.wait(pid, "gone")
        self.scene.settle()
        self.assertEqual(self.scene.listed(pid=pid), {})

    def test_a_child_that_inherited_mapping_and_socket_is_not_listed(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        child = int(fake.do("fork")[0])
        self.scene.settle()
        self.assertEqual(self.scene.subscription.of(child), [])
        self.assertEqual(self.scene.listed(pid=child), {})

    def test_200_that_end_at_once_are_told_detected_and_gone_once_each_and_in_order(self) -> None:
        fake = self.scene.start()
        pids = [int(pid) for pid in fake.do(f"burst {BURST} {fake.folder}")[0].split()]
        self.assertEqual(len(set(pids)), BURST)
        for pid in pids:
            self.scene.wait(pid, "gone")
            told = [event.process for event in self.scene.subscription.of(pid)]
            self.assertEqual([process["state"] for process in told], ["detected", "gone"], told)
        self.assertFalse(self.scene.listed().keys() & set(pids))
        began = [event.process["pid"] for event in self.scene.subscription.log
                 if event.kind == "changed" and event.previous is None]
        self.assertEqual([pid for pid in began if pid in set(pids)], pids)
