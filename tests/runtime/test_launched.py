# SPDX-License-Identifier: MIT
"""A runtime that was started by what was one: by a fork, and in its place under the same pid."""

import sys
import unittest
from pathlib import Path

from lib.child import Child
from lib.daemon import Daemon
from lib.require import require_bpf
from programs import ENVIRONMENT, TIMEOUT, Sample, program

LAUNCHER = Path(__file__).with_name("launcher.py")


class Launcher(Child):
    """A running launcher.py, up. Its socket is in /tmp, where `check` looks for one in the way."""

    def __init__(self) -> None:
        super().__init__([sys.executable, "-S", str(LAUNCHER), *program("native-aot")["argv"]],
                         env=ENVIRONMENT | {"TMPDIR": "/tmp"})
        assert self.read_line(TIMEOUT) == "up"

    def order(self, line: str) -> None:
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def wait_main(self, pid: int) -> None:
        """Returns when the program's Main runs."""
        assert self.read_line(TIMEOUT).startswith(f"ready {pid} ")


class Launched(unittest.TestCase):
    """Told as it happens, and as a daemon that comes later finds it."""

    def setUp(self) -> None:
        require_bpf()
        self.daemon = self.enterContext(Daemon())
        self.subscription = self.daemon.subscribe()
        self.subscription.wait_synced()
        self.launcher = self.enterContext(Launcher())
        self.first = self.subscription.wait_state(self.launcher.pid, "ready")
        self.assertEqual(self.first["entryAssembly"], "Launcher")
        self.addCleanup(Path(self.first["socketPath"]).unlink, missing_ok=True)

    def settle(self) -> None:
        """Returns when all that the kernel has told up to now was taken in."""
        with Sample("native-aot") as sample:
            self.subscription.wait_state(sample.pid, "ready")

    def listed_later(self, pid: int) -> list[dict[str, object]]:
        """Of this pid, by a daemon that found it running."""
        with Daemon() as later:
            later.subscribe().wait_synced()
            return later.call("List", filter={"pid": pid})["processes"]

    def test_a_child_is_listed_once_it_has_a_runtime_of_its_own(self) -> None:
        self.launcher.order("fork")
        child = int(self.launcher.read_line())
        self.settle()
        self.assertEqual(self.subscription.of(child), [])
        self.assertEqual(self.listed_later(child), [])

        self.launcher.order("go")
        process = self.subscription.wait_state(child, "ready")
        self.launcher.wait_main(child)
        self.assertEqual(process["entryAssembly"], "App")
        self.assertRegex(process["socketPath"], rf"/dotnet-diagnostic-{child}-\d+-socket$")
        launcher = self.launcher.pid
        self.assertEqual(self.subscription.alive(launcher), {launcher: self.first})
        # It holds the socket of its parent as well.
        later, = self.listed_later(child)
        self.assertEqual((later["state"], later["socketPath"]), ("ready", process["socketPath"]))

    def test_in_its_place_with_its_socket_in_the_way_another_has_no_port(self) -> None:
        """The first life is gone. The second has no signal, so only `check` can explain it."""
        pid, left = self.launcher.pid, Path(self.first["socketPath"])
        self.launcher.order("exec")
        self.subscription.wait_state(pid, "gone")
        self.launcher.wait_main(pid)
        self.assertTrue(left.is_socket())
        self.settle()
        self.assertEqual(self.subscription.states(pid)[-1], "gone")
        self.assertEqual(self.listed_later(pid), [])
        items = {item["name"]: item for item in self.daemon.call("Check", pid=pid)["items"]}
        self.assertFalse(items["socket"]["ok"])
        self.assertIn(f"is taken: {left}", items["socket"]["detail"])

    def test_in_its_place_with_its_socket_removed_another_has_a_life_of_its_own(self) -> None:
        pid = self.launcher.pid
        self.launcher.order("anew")
        second = self.subscription.wait_for(
            lambda event: event.about(pid, "ready")
            and event.process["id"] != self.first["id"]).process
        self.launcher.wait_main(pid)
        self.assertEqual(second["entryAssembly"], "App")
        self.assertEqual(second["startTime"], self.first["startTime"])
        self.assertEqual(second["socketPath"], self.first["socketPath"])
        states = self.subscription.states(pid)
        self.assertEqual([state for state in states if state != "detected"],
                         ["ready", "gone", "ready"])
        later, = self.listed_later(pid)
        self.assertEqual((later["state"], later["runtimeCookie"]),
                         ("ready", second["runtimeCookie"]))


if __name__ == "__main__":
    unittest.main()
