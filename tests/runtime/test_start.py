# SPDX-License-Identifier: MIT
"""Each kind of .NET program, started after the daemon and before it."""

import unittest
from pathlib import Path

from lib.daemon import Daemon
from lib.require import require_bpf
from programs import Sample


class FoundRunning:
    """A program that ran before the daemon did."""

    sample: str

    def test_started_before_the_daemon_it_is_ready_in_the_snapshot_then_gone(self) -> None:
        with Sample(self.sample) as sample:
            sample.wait_main()
            with Daemon() as daemon:
                subscription = daemon.subscribe()
                subscription.wait_synced()
                process = subscription.alive().get(sample.pid)
                self.assertIsNotNone(process, "not in the snapshot")
                self.assertEqual((process["state"], process["signal"]), ("ready", "scan"))
                self.assertEqual(process["runtimeVersion"], sample.entry["runtimeVersion"])
                self.assertEqual(sample.finish(), 0)
                subscription.wait_state(sample.pid, "gone")
                self.assertEqual(subscription.states(sample.pid), ["ready", "gone"])


class FoundStarting(FoundRunning):
    """A program that the kernel tells of when its runtime listens, with the mapping or without."""

    def test_started_after_the_daemon_it_is_told_ready_then_gone(self) -> None:
        require_bpf()
        with Daemon() as daemon:
            subscription = daemon.subscribe()
            subscription.wait_synced()
            with Sample(self.sample) as sample:
                process = subscription.wait_state(sample.pid, "ready")
                self.assertIn(process["signal"], ("mapping", "listen"))
                self.assertEqual(process["runtimeVersion"], sample.entry["runtimeVersion"])
                sample.wait_main()
                self.assertEqual(sample.finish(), 0)
                subscription.wait_state(sample.pid, "gone")
            self.assertIn(subscription.states(sample.pid),
                          (["detected", "ready", "gone"], ["ready", "gone"]))

    def test_killed_it_is_told_gone_and_its_socket_left_behind_is_no_process(self) -> None:
        require_bpf()
        with Daemon() as daemon:
            subscription = daemon.subscribe()
            with Sample(self.sample) as sample:
                process = subscription.wait_state(sample.pid, "ready")
                sample.kill()
                subscription.wait_state(sample.pid, "gone")
                self.assertTrue(Path(process["socketPath"]).is_socket())
                with Daemon() as later:
                    listed = later.call("List")["processes"]
                    self.assertNotIn(sample.pid, [process["pid"] for process in listed])


class FrameworkDependent(FoundStarting, unittest.TestCase):
    sample = "framework-dependent"


class SelfContained8(FoundStarting, unittest.TestCase):
    sample = "self-contained-8"


class SelfContained10(FoundStarting, unittest.TestCase):
    sample = "self-contained-10"


class SelfContained11(FoundStarting, unittest.TestCase):
    sample = "self-contained-11"


class SingleFile(FoundStarting, unittest.TestCase):
    sample = "single-file"


class NativeAot(FoundStarting, unittest.TestCase):
    sample = "native-aot"
