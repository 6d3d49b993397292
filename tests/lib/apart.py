#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs runner.py, with the same arguments, in a pid namespace of its own.

A daemon sees the processes of its own pid namespace, so those of tests that run at the same time do
not count in each other's limits and descriptors, nor does any .NET process of the machine. Nor does it
see the machine's bus, where it would ask for its name.
"""

import os
import shutil
import sys
from pathlib import Path

HIDE_BUS = '[ ! -d /run/dbus ] || mount -t tmpfs tmpfs /run/dbus && exec "$@"'
RUNNER = Path(__file__).resolve().parent / "runner.py"


def main(arguments: list[str]) -> None:
    """Becomes the runner. Who may not have a namespace has its tests skipped by themselves."""
    argv = [sys.executable, str(RUNNER), *arguments]
    unshare = shutil.which("unshare")
    if os.geteuid() == 0 and unshare:
        argv = [unshare, "--pid", "--fork", "--kill-child", "--mount-proc",
                "sh", "-c", HIDE_BUS, "sh", *argv]
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main(sys.argv[1:])
