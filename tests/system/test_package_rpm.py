# SPDX-License-Identifier: MIT
"""The rpm comes to a machine that runs, is upgraded and erased.

The machine is Debian's, whose packages are unknown to rpm: so it is told to ignore dependencies.
"""

from pathlib import Path

import guest
from lib.packages import NAME, NEXT_RPM, RPM, UNOWNED
from package_story import APP, Story, files, links

BARE = True
RPM_DATABASE = ["/usr/lib/sysimage", "/var/lib/rpm"]


def before_boot(root: Path) -> None:
    APP.enable(root)


def rpm(*arguments: str | Path) -> str:
    """What rpm and the package's scripts say."""
    return guest.run("rpm", "--nodeps", *map(str, arguments)).stdout


class Rpm(Story):
    """Presets enable it, which on this machine enable everything; starting it is up to somebody."""

    def test_installed_upgraded_and_erased(self) -> None:
        before = files()
        rpm("--install", RPM)
        self.assert_installed()
        self.assert_members_hear()
        self.assertEqual(guest.show(guest.SERVICE, "ActiveState"), "inactive")
        guest.systemctl("start", guest.SOCKET, guest.SERVICE)
        self.assert_runs()
        self.assertEqual(rpm("--verify", NAME), "")

        self.upgrade("rpm", "--nodeps", "--upgrade", str(NEXT_RPM))
        self.assert_installed()

        rpm("--erase", NAME)
        self.assertEqual(links(), set())
        self.assert_removed(before, [*RPM_DATABASE, *(f"/{folder}" for folder in UNOWNED)])
