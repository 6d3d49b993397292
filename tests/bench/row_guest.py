# SPDX-License-Identifier: MIT
"""What a system call of somebody else costs, in guests whose kernels have fentry and kprobes.

The guest's clock goes on by a nanosecond with each instruction, so what it measures are
instructions, and nothing that happens on this machine is in them.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "vm")]

import image
import kernels
import machine
import row_tax
import vm
from figures import Row
from lib.daemon import DISCOVERYD
from lib.require import require
from meter import METER
from scale import Scale

TITLE = "what a system call of somebody else costs, in instructions of a guest"
COUNTED = ("-icount", "shift=0")
DEADLINE = 900
GOALS = {"fentry": 1.02, "kprobe": 1.02}  # 1.00; what is above it is the guest's timer


def modules() -> list[Path]:
    """Of Python's library, what guest.py imports."""
    env = os.environ | {"PYTHONPATH": f"{HERE}:{HERE.parent}"}
    output = subprocess.run([sys.executable, "-B", "-c", image.LIST_MODULES, "guest"], env=env,
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    return list(map(Path, json.loads(output)))


def boot(series: str, rounds: int, batches: int) -> str:
    """What the guest wrote."""
    with tempfile.TemporaryDirectory(prefix="bench-vm-") as folder:
        initramfs, work = Path(folder, "initramfs"), Path(folder, "work")
        work.mkdir()
        python = Path(sys.executable).resolve()
        # The file that is mapped is the program itself. The guest's root is shared memory, which has
        # a price that other files have not.
        argv = ["--", "sh", "-c", f"mkdir /files && mount -t ramfs ramfs /files && "
                f"cp {METER} /files/meter && METER=/files/meter exec {python} -B "
                f"{HERE / 'guest.py'} {rounds} {batches}"]
        (work / "arguments").write_text(json.dumps(argv))
        found = modules()
        programs = [Path(METER), *(file for file in found if ".so" in file.suffixes)]
        image.add(work, [*found, *programs, *image.libraries(programs)])
        image.make(initramfs, Path(DISCOVERYD).parent, vm.SAMPLES, work)
        status, written = machine.boot(kernels.cached(series).image, initramfs, "", "1", DEADLINE,
                                       COUNTED)
    assert status == 0, written
    return written


def tell(row: Row, series: str, written: str) -> None:
    """The figures of a guest that wrote this."""
    lines = [line.partition(" ") for line in written.splitlines()]
    rounds = [row_tax.Round(**json.loads(rest)) for word, _, rest in lines if word == "ROUND"]
    place = f"{series}: "
    for text in (rest for word, _, rest in lines if word in ("kernel", "NOTE")):
        row.note(f"{place}{text}")
    names = list(rounds[0].with_it)
    row_tax.tell(row, rounds, names, "instructions", place, GOALS)
    row_tax.tell_goals(row, rounds, names, place)


def measure(row: Row, scale: Scale, cpu: int) -> None:
    """One kernel after the other."""
    del cpu
    reason = image.why_not()
    require(not reason, str(reason))
    for series in scale.guests:
        row.progress(f"a guest with Linux {series}")
        tell(row, series, boot(series, scale.guest_rounds, scale.guest_batches))
