# SPDX-License-Identifier: MIT
"""What docs/subscribing.md prints, where it is meant to run: beside systemd and the system bus."""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import guest
from lib import printed
from lib.child import Child
from lib.require import require
from lib.varlink import TIMEOUT


def before_boot(root: Path) -> None:
    """Builds the program that needs a newer libsystemd than this machine may have.

    The linker cannot know that the guest's C library is newer, too.
    """
    if not (root / "usr/include/systemd/sd-varlink.h").exists():
        return
    library = root / "usr/lib" / f"{os.uname().machine}-linux-gnu"
    with tempfile.TemporaryDirectory(prefix="discovery-") as folder:
        file = printed.program("ready-varlink.c", Path(folder))
        subprocess.run(["cc", "-o", root / "usr/local/bin/ready-varlink", file,
                        "-idirafter", root / "usr/include", f"-L{library}", "-lsystemd",
                        "-Wl,--allow-shlib-undefined"], check=True)


class Watch:
    """A program that prints a line when a process becomes ready, and a restart of the daemon."""

    def watch(self) -> Child:
        """Starts the program."""
        raise NotImplementedError

    def test_tells_of_each_process_once_across_a_restart_of_the_daemon(self) -> None:
        shop, cart, till = (guest.dotnet_service(name) for name in ("shop", "cart", "till"))
        news = self.subscribe()
        version = news.wait_state(shop.start(), "ready")["runtimeVersion"]
        program = self.watch()
        self.assertEqual(program.read_line(), f"{shop.pid} App {version}")
        cart.start()
        self.assertEqual(program.read_line(), f"{cart.pid} App {version}")
        guest.systemctl("restart", guest.SERVICE)
        till.start()
        self.assertEqual(program.read_line(), f"{till.pid} App {version}")
        self.addCleanup(shop.stop)
        self.addCleanup(cart.stop)
        self.addCleanup(till.stop)


class Python(Watch, guest.Scenario):

    def watch(self) -> Child:
        return self.enterContext(guest.spawn(str(printed.program("ready.py", Path("/tmp")))))


class Shell(Watch, guest.Scenario):

    def watch(self) -> Child:
        require_varlink()
        return self.enterContext(guest.spawn(str(printed.program("ready.sh", Path("/tmp")))))


class SdVarlink(Watch, guest.Scenario):

    def watch(self) -> Child:
        require_varlink()
        return self.enterContext(guest.spawn("ready-varlink"))


class Commands(guest.Scenario):
    """Those that are printed one by one: calls for everybody, signals for a member or root."""

    def setUp(self) -> None:
        self.shop = guest.dotnet_service("shop")
        self.addCleanup(self.shop.stop)

    def start(self, beginning: str, user: str | None = None) -> Child:
        """The printed command, in a shell."""
        return self.enterContext(guest.spawn("sh", "-c", printed.command(beginning), user=user))

    def test_varlinkctl_introspect_prints_the_interface_with_its_comments(self) -> None:
        require_varlink()
        lines = guest.run("sh", "-c", printed.command("varlinkctl introspect")).stdout.splitlines()
        self.assertIn("interface org.dotnetdiscovery.Manager", lines)
        self.assertIn("# opaque;", "\n".join(lines))

    def test_busctl_calls_and_reads_properties_for_everybody(self) -> None:
        guest.add_user("somebody")
        process = self.subscribe().wait_state(self.shop.start(), "ready")
        self.assertEqual(self.start("busctl --json=short call").read_line(),
                         f"{process['pid']} App {process['runtimeVersion']}")
        properties = self.start("busctl get-property", user="somebody")
        self.assertEqual(properties.read_line(), "u 0")  # it may see none
        self.assertEqual(properties.read_line(), f's "{guest.call("Status")["mechanism"]}"')

    def test_gdbus_shows_the_signals_to_a_member(self) -> None:
        guest.add_user("member", guest.GROUP)
        monitor = self.start("gdbus monitor", user="member")
        self.assertIn("Monitoring signals", monitor.read_line())
        self.assertIn("is owned by", monitor.read_line())
        pid = self.shop.start()
        for state in "'detected', ''", "'ready', 'detected'":
            self.assertRegex(monitor.read_line(),
                             rf"ProcessChanged \(.* uint32 {pid}, uint64 \d+, {state}, ''\)$")

    def test_busctl_shows_the_signals_to_root(self) -> None:
        monitor = self.start("busctl --json=short monitor")
        deadline = time.monotonic() + TIMEOUT
        while not monitor.has_output():  # it does not tell when it begins to listen
            self.assertLess(time.monotonic(), deadline, "no signal is shown")
            pid = self.shop.start()
            self.shop.stop()
        _, _, shown, _, state, _, _ = json.loads(monitor.read_line())
        self.assertIn(state, ("detected", "ready", "gone"))
        self.assertLessEqual(shown, pid)


def require_varlink() -> None:
    """sd-varlink and a varlinkctl that waits."""
    require(Path("/usr/include/systemd/sd-varlink.h").exists(), "systemd is older than 257")
