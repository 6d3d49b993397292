# SPDX-License-Identifier: MIT
"""Programs started suspended: they can be diagnosed while they wait, and wait on for their tool."""

import unittest

from lib.daemon import Daemon
from lib.require import require_bpf
from programs import Sample, program, run


class Suspended:
    """DOTNET_DefaultDiagnosticPortSuspend=1: Main does not run before a tool says so."""

    sample: str

    def setUp(self) -> None:
        require_bpf()
        program("client")

    def start(self) -> Sample:
        return Sample(self.sample, DOTNET_DefaultDiagnosticPortSuspend="1")

    def resume(self, sample: Sample) -> None:
        """Lets it go on with Microsoft's client, as the daemon must not have done before."""
        self.assertFalse(sample.has_run_main(), "Main ran before it was resumed")
        run("client", "resume", sample.pid)
        sample.wait_main()

    def test_started_after_the_daemon_it_is_ready_while_suspended_and_can_be_resumed(self) -> None:
        with Daemon() as daemon:
            subscription = daemon.subscribe()
            with self.start() as sample:
                process = subscription.wait_state(sample.pid, "ready")
                self.assertEqual(process["runtimeVersion"], sample.entry["runtimeVersion"])
                self.resume(sample)
                self.assertEqual(sample.finish(), 0)
                subscription.wait_state(sample.pid, "gone")

    def test_started_before_the_daemon_it_is_ready_while_suspended_and_can_be_resumed(self) -> None:
        with Daemon() as first, self.start() as sample:
            first.subscribe().wait_state(sample.pid, "ready")
            with Daemon() as daemon:
                subscription = daemon.subscribe()
                subscription.wait_synced()
                self.assertEqual(subscription.states(sample.pid), ["ready"])
                self.resume(sample)
                self.assertEqual(sample.finish(), 0)
                subscription.wait_state(sample.pid, "gone")

    def test_killed_while_suspended_it_is_told_gone(self) -> None:
        with Daemon() as daemon:
            subscription = daemon.subscribe()
            with self.start() as sample:
                subscription.wait_state(sample.pid, "ready")
                sample.kill()
                subscription.wait_state(sample.pid, "gone")


class FrameworkDependent(Suspended, unittest.TestCase):
    sample = "framework-dependent"


class SelfContained11(Suspended, unittest.TestCase):
    sample = "self-contained-11"


class NativeAot(Suspended, unittest.TestCase):
    sample = "native-aot"
