# SPDX-License-Identifier: MIT
"""The daemon and Microsoft's tools ask the same process, and neither is in the other's way."""

import json
import tempfile
import unittest
from pathlib import Path

from lib.daemon import Daemon
from lib.require import require_bpf
from programs import Sample, program, run

ONE_SECOND = "00:00:00:01"
# Counters come once a second; a file without any is not even JSON.
THREE_SECONDS = "00:00:00:03"


class Tools:
    """Each with a process that the daemon has already asked, and goes on to watch."""

    sample: str

    def setUp(self) -> None:
        require_bpf()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        self.daemon = self.enterContext(Daemon())
        self.subscription = self.daemon.subscribe()

    def start(self, tool: str) -> Sample:
        """A sample that is ready and runs its Main."""
        program(tool)
        sample = self.enterContext(Sample(self.sample))
        self.subscription.wait_state(sample.pid, "ready")
        sample.wait_main()
        return sample

    def finish(self, sample: Sample) -> None:
        """Nothing but its end was told since."""
        self.assertEqual(sample.finish(), 0)
        self.subscription.wait_state(sample.pid, "gone")
        self.assertEqual(self.subscription.states(sample.pid)[-2:], ["ready", "gone"])

    def test_dotnet_trace_collects_from_a_process_that_is_ready(self) -> None:
        sample = self.start("dotnet-trace")
        trace = self.folder / "app.nettrace"
        run("dotnet-trace", "collect", "-p", sample.pid, "--duration", ONE_SECOND, "-o", trace)
        self.assertEqual(trace.read_bytes()[:8], b"Nettrace")
        self.finish(sample)

    def test_dotnet_counters_collects_from_a_process_that_is_ready(self) -> None:
        sample = self.start("dotnet-counters")
        counters = self.folder / "app.json"
        run("dotnet-counters", "collect", "-p", sample.pid, "--duration", THREE_SECONDS,
            "--refresh-interval", "1", "--format", "json", "-o", counters)
        self.assertIn("Events", json.loads(counters.read_text()))
        self.finish(sample)


class FrameworkDependent(Tools, unittest.TestCase):
    sample = "framework-dependent"


class SelfContained11(Tools, unittest.TestCase):
    sample = "self-contained-11"


class NativeAot(Tools, unittest.TestCase):
    sample = "native-aot"
