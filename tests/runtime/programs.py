# SPDX-License-Identifier: MIT
"""Starts the .NET programs that samples.py built."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from lib.child import Child
from lib.require import require
from samples import DEFAULT_FOLDER

FOLDER = Path(os.environ.get("DISCOVERY_SAMPLES", DEFAULT_FOLDER))
ARGUMENTS = ["one", "two words", "drei \N{LATIN SMALL LETTER U WITH DIAERESIS}", ""]
# Long for a runtime under a sanitizer's load on one core, and short for a test that hangs.
TIMEOUT = 60

# Sockets are named after pids, and tests in other pid namespaces have the same ones: a tool would
# take the suspended process of another test for the one it was told. Removed when Python ends.
_SOCKETS = tempfile.TemporaryDirectory(prefix="dotnet-")
# What the caller's environment says of diagnostics must not decide a test.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name == "DOTNET_ROOT" or not name.startswith(("DOTNET_", "COMPlus_"))}
ENVIRONMENT["TMPDIR"] = _SOCKETS.name


def program(name: str) -> dict[str, Any]:
    """The entry of samples.json; skips the test, with the reason, where it was not built."""
    index = FOLDER / "samples.json"
    require(index.exists(), f"{index} is missing: run samples.py first")
    entry = json.loads(index.read_text())[name]
    require("argv" in entry, f"{name}: {entry.get('reason')}")
    return entry


class Sample(Child):
    """A running sample, with ARGUMENTS for it to ignore."""

    def __init__(self, name: str, **env: str):
        self.entry = program(name)
        super().__init__([*self.entry["argv"], *ARGUMENTS], env=ENVIRONMENT | env)

    def wait_main(self) -> None:
        """Returns when its Main runs."""
        while not self._is_from_main(self.read_line(TIMEOUT)):
            pass  # a suspended runtime writes a hint after five seconds

    def has_run_main(self) -> bool:
        """Whether its Main runs, as far as it has told by now."""
        while self.has_output():
            if self._is_from_main(self.read_line()):
                return True
        return False

    def _is_from_main(self, line: str) -> bool:
        return line.startswith(f"ready {self.pid} ")


def run(name: str, *arguments: str | int) -> str:
    """Runs a client program to its end; what it wrote."""
    argv = [*program(name)["argv"], *map(str, arguments)]
    result = subprocess.run(argv, env=ENVIRONMENT, stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT,
                            check=False)
    assert result.returncode == 0, f"{argv} ended with {result.returncode}: {result.stdout}"
    return result.stdout
