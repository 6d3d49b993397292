# SPDX-License-Identifier: MIT
"""What a test needs of the machine. A need that is not met skips the test and says why."""

import os
import re
import shutil
from pathlib import Path
from unittest import SkipTest

# Bits of CapEff, from linux/capability.h.
CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}


def require(holds: object, reason: str) -> None:
    """Skips the test, or the whole class from setUpClass(), where something is not there."""
    if not holds:
        raise SkipTest(reason)


def require_tool(name: str) -> str:
    """The path of a program that must be installed."""
    path = shutil.which(name)
    require(path, f"{name} is not installed")
    return path


def require_root() -> None:
    """For tests that act as several users."""
    require(os.geteuid() == 0, "needs root")


def require_bpf() -> None:
    """For tests in which the kernel must tell the daemon of something."""
    require(_has("CAP_SYS_ADMIN") or (_has("CAP_BPF") and _has("CAP_PERFMON")),
            "needs CAP_BPF and CAP_PERFMON, or root")


def _has(capability: str) -> bool:
    status = Path("/proc/self/status").read_text()
    effective = int(re.search(r"^CapEff:\s*(\w+)$", status, re.MULTILINE)[1], 16)
    return bool(effective >> CAPABILITIES[capability] & 1)
