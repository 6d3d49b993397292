#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boots a whole machine with systemd on another kernel, and runs a scenario in it, as CTest does:

    system.py VERSION SERIES FILE [unittest options]

VERSION is that of systemd, SERIES that of the kernel. What tests/system boots in a container is the
initramfs of a guest here, so that the kernel has what a container has not: controllers of cgroups
and a limit of memory that BPF counts. Exit status as that of tests/system/run.py.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
sys.path[0:1] = [str(HERE), str(HERE.parent / "system"), str(HERE.parent)]

import image
import kernels
import machine
import run
from lib import roots
from unittest import SkipTest

DEADLINE = 600  # seconds of a guest's life; CTest's is longer

# The second port is the way out; systemd ends the machine, with the unit's own end.
DROP_IN = """[Service]
Environment=DISCOVERY_TIMEOUT=60
ExecStopPost=/bin/sh -c 'cat /out/log >/dev/ttyS1; echo "exit status $$EXIT_STATUS" >/dev/ttyS1'
"""
# A fixed set of devices, and nobody logs in.
MASKED = ("systemd-udevd.service", "systemd-udev-trigger.service", "systemd-udevd-kernel.socket",
          "systemd-udevd-control.socket", "systemd-hwdb-update.service", "modprobe@.service",
          "systemd-modules-load.service", "kmod-static-nodes.service", "serial-getty@.service",
          "systemd-logind.service", "systemd-network-generator.service")
OPTIONS = "systemd.show_status=no lsm=lockdown,capability,landlock,yama,apparmor,bpf " + \
          " ".join(f"systemd.mask={unit}" for unit in MASKED)
# Of the tree; they would be unpacked into the guest's memory at each boot.
LEFT_OUT = ("usr/share/doc", "usr/share/locale", "usr/share/man", "usr/share/zoneinfo", "var/cache",
            "var/lib/apt", "var/lib/dpkg")
INIT = """#!/busybox sh
# As a machine has it: a root that is a mount of its own, so that units can be given another.
/busybox mount --bind /tree /tree
cd /tree
/busybox mount --move . /
exec /busybox chroot . /lib/systemd/systemd
"""


def main(arguments: list[str]) -> int:
    """Becomes a program in a mount namespace of its own; there, does what is asked."""
    if run.NAME not in os.environ:
        reason = "needs root" if os.geteuid() else image.why_not()
        if reason:
            print(f"SKIPPED {reason}")
            return run.SKIPPED
        os.environ |= {run.NAME: "vm", "DISCOVERY_SAMPLES": str(run.SAMPLES)}
        os.execvp("unshare", ["unshare", "--mount", sys.executable, "-B", __file__, *arguments])
    version, series, *scenario = arguments
    try:
        kernel = kernels.cached(series)
        return run.inner(version, scenario, lambda root, arguments: boot(kernel, root, arguments))
    except (SkipTest, roots.CannotMake) as reason:
        print(f"SKIPPED {reason}")
        return run.SKIPPED


def boot(kernel: kernels.Kernel, root: Path, arguments: list[str]) -> int:
    """Boots this root with a scenario to run; shows what it wrote."""
    with tempfile.TemporaryDirectory(prefix="discovery-vm-", dir="/tmp") as folder:
        work, initramfs = Path(folder, "work"), Path(folder, "initramfs")
        tree = work / "tree"
        tree.mkdir(parents=True)
        (root / "out").mkdir()
        run.prepare(root, root / "out", arguments)
        drop_in = root / "etc/systemd/system/scenario.service.d/vm.conf"
        drop_in.parent.mkdir()
        drop_in.write_text(DROP_IN)
        shutil.copy(image.tool("busybox"), work / "busybox")
        (work / "init").write_text(INIT)
        (work / "init").chmod(0o755)
        for file in image.ours():
            add(file, root / "checkout" / file.relative_to(CHECKOUT))
        for file in image.sample(run.SAMPLES):
            add(file, root / "samples" / file.relative_to(run.SAMPLES))
        roots.command(["mount", "--bind", str(root), str(tree)])
        try:
            image.pack(work, initramfs, [f"tree/{name}" for name in LEFT_OUT])
        finally:
            roots.command(["umount", str(tree)])
        status, written = machine.boot(kernel.image, initramfs, OPTIONS, "1", DEADLINE,
                                       ["-m", "1536"])
    print(written)
    return status


def add(file: Path, target: Path) -> None:
    """Copies a file into the root."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, target)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
