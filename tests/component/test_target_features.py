# SPDX-License-Identifier: MIT
"""The daemon without some of its kernel programs: the rest works, and what is missing is told.

Without both that notice processes which start, scans at an interval do.
"""

import unittest
from itertools import combinations

from answers import READY
from scene import FAKE, Cast, Fake, Scene, require_kernel

COST = {
    "mapping": "a process that starts is not noticed by its mapping",
    "listen": "a process that starts is not noticed by its socket, and those of runtimes before "
              "10.0.5 have no mapping",
    "exec": "a process that executes another program stays listed until it ends",
    "scan": "what runs already is found by reading /proc, which takes longer",
}

# In the order in which a starting runtime gives them.
SIGNALS = ("listen", "mapping")


def scene_without(*programs: str, cast: Cast | None = None) -> Scene:
    """A scene whose daemon leaves these kernel programs out."""
    return Scene(*(f"--without={program}" for program in programs), cast=cast)


class Without(unittest.TestCase):
    """Every choice of programs, each with a daemon of its own."""

    def setUp(self) -> None:
        require_kernel()

    def check(self, *programs: str) -> None:
        """What works, and what Status says, without these."""
        with Cast() as cast:
            running, executing = cast.begin(READY), cast.begin(READY)
            with scene_without(*programs, cast=cast) as scene:
                self.check_status(scene, programs)
                for fake in (running, executing):
                    self.assertEqual(scene.wait(fake, "ready")["signal"], "scan")
                starting = cast.begin(READY)
                told = [name for name in SIGNALS if name not in programs] or ["scan"]
                self.assertEqual(scene.wait(starting, "ready")["signal"], told[0])
                self.check_exec(scene, executing, "exec" not in programs)
                self.assertEqual(running.finish(), 0)
                scene.wait(running, "gone")

    def check_status(self, scene: Scene, programs: tuple[str, ...]) -> None:
        status = scene.status()
        attached = {program["name"]: program["attached"] for program in status["programs"]}
        self.assertEqual(attached, {name: name not in programs for name in COST})
        scans = {*SIGNALS} <= {*programs}
        expected = [f"the kernel program {name} is left out on request: {COST[name]}"
                    for name in COST if name in programs]
        if scans:
            expected.append("what is not noticed is found by the next scan, of which one is made "
                            "every 1 to 60 s")
        self.assertEqual(status.get("degraded", []), expected)
        self.assertEqual(status["mechanism"] == "scan", scans)

    def check_exec(self, scene: Scene, fake: Fake, noticed: bool) -> None:
        """Whether another program in the place of one that ran before is noticed."""
        fake.send("exec /bin/cat")
        if noticed:
            scene.wait(fake, "gone")
        else:
            fake.send("it runs")
            while fake.read_line() != "it runs":
                pass  # what it told before
            self.assertEqual(list(scene.listed(pid=fake.pid)), [fake.pid])
            self.assertEqual(fake.finish(), 0)
            scene.wait(fake, "gone")

    def test_without_nothing_all_works_and_nothing_is_degraded(self) -> None:
        self.check()

    def test_without_mapping(self) -> None:
        self.check("mapping")

    def test_without_listen(self) -> None:
        self.check("listen")

    def test_without_exec(self) -> None:
        self.check("exec")

    def test_without_scan(self) -> None:
        self.check("scan")

    def test_without_two_of_them(self) -> None:
        for programs in combinations(COST, 2):
            with self.subTest(programs):
                self.check(*programs)

    def test_without_all_of_them(self) -> None:
        self.check(*COST)

    def test_without_exec_a_mapping_by_the_program_executed_begins_another_life(self) -> None:
        scene = self.enterContext(scene_without("exec"))
        fake = scene.begin(READY)
        scene.wait(fake, "ready")
        fake.send(f"exec {FAKE}")
        fake.wait_restart()
        fake.begin(READY, path=fake.path("dotnet-diagnostic-2-2-socket"))
        scene.wait(fake, "gone")
        scene.subscription.wait_for(lambda event: event.about(fake.pid, "ready") and
                                    event.process["socketPath"] == fake.sockets[-1])
        self.assertEqual(scene.states(fake), ["detected", "ready", "gone", "detected", "ready"])
