# SPDX-License-Identifier: MIT
"""The rpm in a tree that nothing runs in, as who builds an image installs it: its scripts must do
their part and not mind that there is no systemd to talk to.

The tree is Debian's, whose packages are unknown to rpm: so it is told to ignore dependencies.
"""

import os
import subprocess
import unittest
from pathlib import Path

from lib import roots
from lib.packages import CHECKOUT, LINKS, NAME, NEXT_RPM, NEXT_VERSION, RPM, UNOWNED, VERSION
from lib.require import require, require_root, require_tool

TREES = Path(os.environ.get("DISCOVERY_TREES", CHECKOUT / "build" / "trees"))
RPM_DATABASE = "/var/lib/rpm"


class Tree(unittest.TestCase):
    """Install, upgrade and erase."""

    def setUp(self) -> None:
        require_root()
        for tool in "rpm", "mmdebstrap", "mount":
            require_tool(tool)
        roots.command(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"])
        self.addCleanup(roots.command, ["umount", "/run"])
        try:
            tree = self.enterContext(roots.tree(TREES, "252"))
        except roots.CannotMake as reason:
            require(False, f"there is no tree to install into: {reason}")
        self.root, _ = self.enterContext(roots.overlaid([tree]))

    def rpm(self, *arguments: str | Path) -> str:
        """What it and the package's scripts write. They must find nothing to complain of."""
        result = subprocess.run(["rpm", "--root", self.root, "--dbpath", RPM_DATABASE,
                                 *arguments], text=True,
                                capture_output=True, check=True)
        self.assertNotRegex(result.stderr, "(?i)warning|error|fail|not found|cannot")
        return result.stdout

    def files(self) -> set[str]:
        """All there is in the tree."""
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}

    def enabled(self) -> set[str]:
        """The links by which systemd and the bus start it."""
        return {str(path.relative_to(self.root))
                for path in (self.root / "etc/systemd").rglob(f"*dotnet*")}

    def catalog(self) -> str:
        """What the journal of the tree can explain."""
        return roots.command(["chroot", str(self.root), "journalctl", "--list-catalog"])

    def test_installed_upgraded_and_erased_it_leaves_the_group_alone(self) -> None:
        before = self.files()
        self.rpm("--nodeps", "--install", RPM)
        self.assertEqual(self.rpm("--query", "--qf", "%{VERSION}", NAME), VERSION)
        self.assertEqual(self.rpm("--nodeps", "--verify", NAME), "")
        self.assertIn("dotnet-discovery:x:", (self.root / "etc/group").read_text())
        self.assertEqual(self.enabled(), LINKS, "Debian presets enable all")
        self.assertIn(f"{NAME}: ", self.catalog())

        (self.root / "etc/systemd/system/dbus-org.dotnetdiscovery1.service").unlink()
        self.rpm("--nodeps", "--upgrade", NEXT_RPM)
        self.assertEqual(self.rpm("--query", "--qf", "%{VERSION}", NAME), NEXT_VERSION)
        self.assertEqual(len(self.enabled()), len(LINKS) - 1, "what was disabled stays so")
        self.assertIn(f"{NAME}: ", self.catalog())

        self.rpm("--nodeps", "--erase", NAME)
        left = {path for path in self.files() - before
                if not path.startswith((RPM_DATABASE[1:], *UNOWNED))}
        self.assertEqual(left, set())
        self.assertNotIn(f"{NAME}: ", self.catalog())
        self.assertIn("dotnet-discovery:x:", (self.root / "etc/group").read_text())
