# SPDX-License-Identifier: MIT
"""The program of docs/subscribing.md that needs nothing but Python and the status socket."""

import signal

from lib import printed
from lib.child import Child
from lib.daemon import Daemon
from lib.stage import Stage, Watch


class Python(Watch, Stage):

    def watch(self) -> Child:
        return self.start(str(printed.program("ready.py", self.folder)))

    def overruns(self, daemon: Daemon) -> int:
        """How many subscribers were too slow up to now."""
        counters = daemon.call("Status")["counters"]
        return next(counter["value"] for counter in counters if counter["name"] == "overruns")

    def test_after_an_overrun_it_prints_what_it_missed_and_nothing_twice(self) -> None:
        with self.daemon("--max-queue=65536") as daemon:
            self.subscription = daemon.subscribe()
            first = self.ready()
            program = self.watch()
            self.assertEqual(program.read_line(), self.line(first))
            program.kill(signal.SIGSTOP)
            while self.overruns(daemon) == 0:
                self.fakes.end(self.ready())
            missed = self.ready()
            program.kill(signal.SIGCONT)
            lines = [program.read_line()]
            while lines[-1] != self.line(missed):
                lines.append(program.read_line())
            self.assertNotIn(self.line(first), lines)
