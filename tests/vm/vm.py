#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boots a guest and runs its scenarios, as CTest does:

    vm.py GUEST                 one of GUESTS below
    vm.py SERIES FILE[:TEST]... test_FILE.py on the kernel of a series: vm.py 5.10 rungs:Rungs
    vm.py SERIES -- COMMAND...  anything: vm.py 7 -- busybox uname -a

DISCOVERY_BUILD names the build folder that is tested, DISCOVERY_SAMPLES the folder of .NET samples,
DISCOVERY_KERNELS that of the kernels. Exit status: that of the scenarios, or 77 with the reason
where no guest can run.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
sys.path[0:1] = [str(HERE), str(CHECKOUT / "tests")]

import image
import kernels
import machine
from lib.roots import CannotMake

BUILD = Path(os.environ.get("DISCOVERY_BUILD", CHECKOUT / "build")).resolve()
SAMPLES = Path(os.environ.get("DISCOVERY_SAMPLES", CHECKOUT / "build" / "samples")).resolve()
SKIPPED = 77
DEADLINE = 600  # seconds of a guest's life; CTest's is longer


class Guest(NamedTuple):
    """A kernel, how it is booted, and the scenarios that run in it."""

    series: str
    scenarios: tuple[str, ...]
    options: str = ""
    processors: str = "1"


BASIC = ("programs:Programs", "programs:Guard", "rungs")
MORE = ("programs:Longest", "refusals")
GUESTS = {
    **{series: Guest(series, BASIC) for series in kernels.SERIES},
    **{f"{series}-more": Guest(series, MORE) for series in kernels.SERIES},
    "hotplug": Guest("6.12", ("hotplug",), "maxcpus=1", "2"),
    "lockdown-integrity": Guest("6.12", ("lockdown",), "lockdown=integrity"),
    "lockdown-confidentiality": Guest("6.12", ("lockdown",), "lockdown=confidentiality"),
}


def main(arguments: list[str]) -> int:
    """Runs what is named."""
    if not arguments or arguments[0] not in GUESTS:
        print(__doc__, *GUESTS, file=sys.stderr)
        return 2
    name, *scenarios = arguments
    guest = GUESTS[name]
    reason = image.why_not()
    if reason:
        print(f"SKIPPED {reason}")
        return SKIPPED
    try:
        kernel = kernels.cached(guest.series)
    except CannotMake as error:
        print(f"SKIPPED no kernel can be had: {error}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="discovery-vm-") as folder:
        initramfs, work = Path(folder, "initramfs"), Path(folder, "work")
        work.mkdir()
        (work / "arguments").write_text(json.dumps(scenarios or guest.scenarios))
        image.make(initramfs, BUILD, SAMPLES, work)
        status, written = machine.boot(kernel.image, initramfs, guest.options, guest.processors,
                                       DEADLINE)
    print(written)
    return status


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
