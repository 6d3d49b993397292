# SPDX-License-Identifier: MIT
"""A guest of QEMU: boots a kernel with an initramfs, and gives what it wrote and its exit status.

Emulated, since a machine that is a guest itself cannot be counted on to run guests. The first
serial port is the kernel's console; the second is what init writes to, with the exit status in the
last line. Whatever ends this program, the kernel ends the guest.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lib.child import readable

# qemu64 is emulated faster than any later processor; without random numbers a kernel waits.
QEMU = ("qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64,+rdrand", "-M", "q35", "-nodefaults",
        "-display", "none", "-no-reboot", "-device", "virtio-rng-pci", "-m", "1024")
COMMAND_LINE = "console=ttyS0 panic=-1 quiet random.trust_cpu=on TERM=dumb"
STATUS = re.compile(r"^exit status (\d+)\n\Z", re.MULTILINE)


class Failed(Exception):
    """A guest that did not come to its end."""


def boot(kernel: Path, initramfs: Path, options: str, processors: str, deadline: float,
         extra: Sequence[str] = ()) -> tuple[int, str]:
    """Its exit status and all that it wrote. Options are the kernel's, `extra` are QEMU's."""
    with tempfile.TemporaryDirectory(prefix="discovery-vm-") as folder:
        console, result = Path(folder, "console"), Path(folder, "result")
        result.touch()
        argv = ["setpriv", "--pdeathsig", "KILL", "--", *QEMU, "-smp", processors,
                "-serial", f"file:{console}", "-serial", f"file:{result}",
                "-kernel", str(kernel), "-initrd", str(initramfs),
                "-append", f"{COMMAND_LINE} {options}", *extra]
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as guest:
            pidfd = os.pidfd_open(guest.pid)
            try:
                ended = readable([pidfd], deadline)
            finally:
                guest.kill()
                os.close(pidfd)
        written = text(result)
        status = STATUS.search(written)
        if not ended or not status:
            print(written, text(console), sep="\n--- console of the guest\n")
            raise Failed("the guest ended before its tests did" if ended else
                         f"the guest still ran after {deadline} s")
        return int(status[1]), written[:status.start()]


def text(file: Path) -> str:
    """What a serial port was written."""
    return file.read_text(errors="backslashreplace").replace("\r", "") if file.exists() else ""
