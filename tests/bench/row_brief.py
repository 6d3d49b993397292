# SPDX-License-Identifier: MIT
"""What many short-lived processes that are none of .NET leave behind, and what they cost."""

import tempfile
from pathlib import Path

from figures import Row
from lib.daemon import Daemon
from meter import Herd, counter, cpu_us, pass_time
from row_processes import Held
from scale import Scale

TITLE = "short-lived processes that are none of .NET"
WARM = 100  # whose first costs are no matter of the others


def measure(row: Row, scale: Scale, cpu: int) -> None:
    """Two numbers of them, one after the other, with one daemon."""
    del cpu
    costs = []
    with (tempfile.TemporaryDirectory(prefix="bench-") as folder, Herd(Path(folder)) as herd,
          Daemon() as daemon):
        herd.order("brief", WARM)
        counter(daemon, "records")
        for count in scale.brief:
            row.progress(f"{count} processes")
            records = counter(daemon, "records")
            pass_time(daemon, scale.settle)
            before = Held.of(daemon)
            spent = cpu_us(daemon.pid)
            herd.order("brief", count)
            spent = cpu_us(daemon.pid) - spent
            after = Held.of(daemon)
            row.add(f"{count}: descriptors left behind", "",
                    [after.descriptors - before.descriptors], 0)
            row.add(f"{count}: own memory left behind", "KiB", [after.own - before.own], 0)
            row.add(f"{count}: records of them", "", [counter(daemon, "records") - records], 0)
            row.add(f"{count}: the daemon's processor time", "us", [spent])
            costs.append((count, spent))
    row.growth("processor time with their number", costs)
