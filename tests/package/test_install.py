# SPDX-License-Identifier: MIT
"""`cmake --install` below a prefix of one's own, as who builds from source or packages does it."""

import os
import re
import tempfile
import unittest
from pathlib import Path

from lib.packages import CHECKOUT, INSTALLED, run

PREFIX = "/opt/odd+prefix-1.0"


class Install(unittest.TestCase):
    """One install, staged with DESTDIR."""

    def setUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        self.staged = folder / "staged"
        build = folder / "build"
        run("cmake", "-G", "Ninja", "-S", CHECKOUT, "-B", build, "-DBUILD_TESTING=OFF",
            f"-DCMAKE_INSTALL_PREFIX={PREFIX}")
        run("cmake", "--build", build, "--", "--quiet")
        run("cmake", "--install", build, env=os.environ | {"DESTDIR": str(self.staged)})

    def test_everything_is_below_the_prefix_and_the_unit_starts_the_program_there(self) -> None:
        files = {str(path.relative_to(self.staged)) for path in self.staged.rglob("*")
                 if not path.is_dir()}
        self.assertEqual(files, {f"{PREFIX}/{path}".removeprefix("/") for path in INSTALLED})
        unit = self.staged / PREFIX[1:] / "lib/systemd/system/dotnet-discoveryd.service"
        started = re.findall(r"^ExecStart=(\S+)", unit.read_text(), re.MULTILINE)
        self.assertEqual(started, [f"{PREFIX}/sbin/dotnet-discoveryd"])
