# SPDX-License-Identifier: MIT
"""The programs of docs/subscribing.md that use D-Bus, on a bus that stands where they look for it."""

import subprocess
from pathlib import Path

from lib import printed
from lib.bus import Bus
from lib.child import Child
from lib.require import require
from lib.stage import Stage, Watch

PLACE = Path("/run/dbus/system_bus_socket")


class OnTheBus(Watch):
    """The daemon has a bus, too."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.bus = cls.enterClassContext(Bus())
        cls.bus.start()
        PLACE.parent.mkdir()
        PLACE.symlink_to(cls.bus.socket)

    def watch(self) -> Child:
        """Starts it once the daemon has its name: nobody here would start the daemon for it."""
        argv = self.argv()
        self.bus.wait_name()
        return self.start(*argv)

    def argv(self) -> list[str]:
        """The program."""
        raise NotImplementedError

    def line(self, pid: int) -> str:
        return str(pid)


class Python(OnTheBus, Stage):

    def argv(self) -> list[str]:
        found = subprocess.run(["/usr/bin/python3", "-c", "import gi"], capture_output=True,
                               check=False)
        require(found.returncode == 0, "python3-gi is not installed")
        return [str(printed.program("ready-dbus.py", self.folder))]


class SdBus(OnTheBus, Stage):

    def argv(self) -> list[str]:
        printed.program("ready-bus.c", self.folder)
        build = printed.command("cc -O2 -o ready-bus ")
        subprocess.run(build, shell=True, check=True, cwd=self.folder)
        return ["./ready-bus"]
