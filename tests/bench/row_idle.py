# SPDX-License-Identifier: MIT
"""How often the daemon wakes while nothing happens: it has no watchdog here, as none asked."""

import re
import tempfile
from pathlib import Path

from figures import Row
from lib.daemon import Daemon
from meter import Herd, Meter, cpu_us, pass_time
from row_processes import grow
from scale import Scale

TITLE = "while nothing happens"
COUNT = 500
SETTLES = 5  # times as long as others: its last timer of a start is over then


def switches(daemon: Daemon) -> int:
    """Voluntary ones up to now, of all its threads."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(),
                             re.MULTILINE)[1])
               for status in Path(f"/proc/{daemon.pid}/task").glob("*/status"))


def measure_state(row: Row, scale: Scale, daemon: Daemon, title: str) -> tuple[float, float]:
    """One state of things: switches and microseconds. It is asked nothing meanwhile, not even for
    its state."""
    row.progress(title)
    pass_time(daemon, SETTLES * scale.settle)
    before, spent = switches(daemon), cpu_us(daemon.pid)
    pass_time(daemon, scale.idle)
    before, spent = switches(daemon) - before, cpu_us(daemon.pid) - spent
    row.add(f"{title}: voluntary context switches in {scale.idle} s", "", [before], 0)
    row.add(f"{title}: processor time in {scale.idle} s", "us", [spent], 0)
    return before, spent


def measure(row: Row, scale: Scale, cpu: int) -> None:
    """Without any process and with some, a subscriber being there."""
    with (tempfile.TemporaryDirectory(prefix="bench-") as folder, Herd(Path(folder)) as herd,
          Daemon(["--log-level=err"]) as daemon, Meter("watch", cpu, daemon.socket) as watch):
        assert watch.read_line() == "synced"
        none = measure_state(row, scale, daemon, "no process, one subscriber")
        grow(daemon, herd, 0, COUNT, cpu)
        some = measure_state(row, scale, daemon, f"{COUNT} processes, one subscriber")
    for name, *values in zip(("context switches", "processor time"), none, some):
        row.growth(name, list(zip((0, COUNT), values)))
