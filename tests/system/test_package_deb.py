# SPDX-License-Identifier: MIT
"""The deb comes to a machine that runs, is upgraded, removed and purged."""

from pathlib import Path

import guest
from lib.packages import DEB, NAME, NEXT_DEB
from package_story import APP, LINKS, Story, files, links

BARE = True


def before_boot(root: Path) -> None:
    APP.enable(root)


def dpkg(*arguments: str | Path) -> str:
    """What dpkg and the package's scripts say."""
    return guest.run("dpkg", *map(str, arguments)).stdout


class Deb(Story):
    """Nobody but dpkg does anything: what is enabled and started is by Debian's rules."""

    def test_installed_upgraded_removed_and_purged(self) -> None:
        before = files()
        dpkg("--install", DEB)
        self.assert_installed()
        self.assert_members_hear()
        self.assert_runs()
        self.assertEqual(dpkg("--verify", NAME), "")

        self.upgrade("dpkg", "--install", str(NEXT_DEB))
        self.assert_installed()

        guest.systemctl("disable", "--now", guest.SOCKET, guest.SERVICE)
        dpkg("--install", NEXT_DEB)
        self.assertEqual(links(), set(), "an upgrade has enabled what was disabled")
        self.assertEqual(guest.show(guest.SERVICE, "ActiveState"), "inactive")
        self.assertEqual(guest.show(guest.SOCKET, "ActiveState"), "inactive")
        guest.systemctl("enable", "--now", guest.SOCKET, guest.SERVICE)
        self.assert_runs()

        dpkg("--remove", NAME)
        self.assertEqual(guest.show(guest.SERVICE, "ActiveState"), "inactive")
        self.assertEqual(links(), LINKS, "they are configuration, which goes with the purge")
        dpkg("--purge", NAME)
        self.assert_removed(before, ["/var/log/dpkg.log"])
