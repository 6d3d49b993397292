# SPDX-License-Identifier: MIT
"""Starts the .NET programs that samples.py built."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.built import built
from lib.child import Child
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


# First words to a program that is not ours, which tells by its answer that its Main runs.
GREETING = b"""{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {\
"protocolVersion": "2024-11-05", "capabilities": {}, \
"clientInfo": {"name": "test", "version": "1"}}}
"""


def program(name: str, seen_at: Path | None = None) -> dict[str, Any]:
    """What is known of it; skips the test, with the reason, where it was not built."""
    return built(FOLDER, name, seen_at)


class Sample(Child):
    """A running sample, with ARGUMENTS for it to ignore where it is ours.

    A wrapper is a command that executes the one behind it, with the samples at another place where
    one is given.
    """

    def __init__(self, name: str, wrapper: Sequence[str] = (), seen_at: Path | None = None,
                 **env: str):
        self.entry = program(name, seen_at)
        ours = self.entry["kind"] != "server"
        arguments = ARGUMENTS if ours else []
        super().__init__([*wrapper, *self.entry["argv"], *arguments], env=ENVIRONMENT | env)
        if not ours:
            self.process.stdin.write(GREETING)
            self.process.stdin.flush()

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
        return line.startswith((f"ready {self.pid} ", '{"result":'))


def run(name: str, *arguments: str | int) -> str:
    """Runs a client program to its end; what it wrote."""
    argv = [*program(name)["argv"], *map(str, arguments)]
    result = subprocess.run(argv, env=ENVIRONMENT, stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT,
                            check=False)
    assert result.returncode == 0, f"{argv} ended with {result.returncode}: {result.stdout}"
    return result.stdout
