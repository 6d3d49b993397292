# SPDX-License-Identifier: MIT
"""The ladder of mechanisms as a guest's scenarios try it: a daemon that takes one or is made to,
and a .NET process that must be noticed by it.
"""

import os
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.built import built
from lib.child import Child
from lib.daemon import Daemon
from lib.subscription import Subscription

BPF = ("fentry", "kprobe", "syscall-tracepoint", "raw-tracepoint")
MECHANISMS = (*BPF, "perf", "scan")
# What tells of a process that starts. A runtime listens before it maps; perf tells of maps alone.
SIGNALS = {"perf": "mapping", "scan": "scan"}
ROW = "ROW "  # what a line with a row of the table begins with


def without(*capabilities: str) -> list[str]:
    """A command in front of the daemon's: root without these capabilities."""
    return ["setpriv", f"--bounding-set={','.join(f'-{name}' for name in capabilities)}", "--"]


def start_app(*wrapper: str) -> Child:
    """A NativeAOT program that runs its Main when this returns, and ends with its context."""
    app = built(Path(os.environ["DISCOVERY_SAMPLES"]), "native-aot")
    child = Child([*wrapper, *app["argv"]])
    child.read_line()
    return child


def refusal(status: dict[str, Any], name: str) -> str | None:
    """Why this mechanism is not used."""
    mechanism, = (entry for entry in status["mechanisms"] if entry["name"] == name)
    return mechanism.get("detail")


class Ladder(unittest.TestCase):
    """Cases that start daemons."""

    def check_notices(self, subscription: Subscription, mechanism: str, *wrapper: str) -> None:
        """A process that starts is ready, noticed by what this mechanism has for it.

        With scans at an interval one of them may come first, once in a long while.
        """
        expected = SIGNALS.get(mechanism, "listen")
        told = set()
        while expected not in told and len(told) < 2:
            with start_app(*wrapper) as app:
                process = subscription.wait_state(app.pid, "ready")
                self.assertIn(process["signal"], {expected} | ({"scan"} if mechanism == "perf"
                                                               else set()))
                told.add(process["signal"])
        self.assertIn(expected, told)

    def take(self, forced: str = "auto", wrapper: Sequence[str] = ()) -> dict[str, Any]:
        """The status of a daemon told to use it, and which notices by what it says it does."""
        with start_app() as before, Daemon([f"--mechanism={forced}", "--log-level=debug"],
                                           wrapper=wrapper) as daemon:
            status = daemon.call("Status")
            subscription = daemon.subscribe()
            process = subscription.wait_state(before.pid, "ready")
            self.assertEqual(process["signal"], "scan")
            self.check_notices(subscription, status["mechanism"])
            used = [entry["name"] for entry in status["mechanisms"] if entry["used"]]
            self.assertEqual(used, [status["mechanism"]])
            if forced not in ("auto", status["mechanism"]):
                self.assertEqual(status["mechanism"], "scan")
                self.assertTrue(refusal(status, forced), status)
                self.assertIn("degraded", status)
            return status

    def row(self, name: str, wrapper: Sequence[str] = ()) -> dict[str, str | None]:
        """Tries each by force; prints what became of it as a row of the table, and returns it."""
        refused = {}
        for mechanism in MECHANISMS:
            with self.subTest(mechanism=mechanism):
                status = self.take(mechanism, wrapper)
                refused[mechanism] = None if status["mechanism"] == mechanism else \
                    refusal(status, mechanism)
        taken = self.take("auto", wrapper)["mechanism"]
        cells = [refused.get(mechanism, "failed") or "passed" for mechanism in MECHANISMS]
        release = os.uname().release.removesuffix("-cloud-amd64")
        print(f"\n{ROW}| {' | '.join([release, name, taken, *cells])} |", flush=True)
        return refused | {"auto": taken}
