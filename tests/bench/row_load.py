# SPDX-License-Identifier: MIT
"""Many starts and many subscribers: whether anything is lost, how late it is told, what it costs.

Each is a daemon of its own and so many fake processes of .NET, started at an even rate, that live
until the end. The subscribers are one process, which looks at every frame.
"""

import tempfile
from pathlib import Path

from figures import Row
from lib.daemon import Daemon
from meter import Herd, Meter, await_descriptors, counter, cpu_us
from scale import Scale

TITLE = "many starts, many subscribers"
DEADLINE = 10  # seconds in which nobody is told anything


def measure_end(daemon: Daemon, herd: Herd) -> float:
    """Kills all at once; what the daemon needs until it holds none, in ms of a processor."""
    before, most = cpu_us(daemon.pid), daemon.fds() - len(list(herd.folder.iterdir()))
    herd.end()
    await_descriptors(daemon, most)
    return (cpu_us(daemon.pid) - before) / 1000


def measure_load(row: Row, cpu: int, rate: int, subscribers: int, seconds: int,
                 series: dict[str, list[tuple[float, float]]],
                 silent: int = 0) -> tuple[float, float]:
    """One load; what all starts cost the daemon, and their ends, in ms of a processor."""
    count = rate * seconds
    title = f"{rate} starts a second, {subscribers} subscribers"
    title += f" beside {silent} that never read" if silent else ""
    row.progress(title)
    with (tempfile.TemporaryDirectory(prefix="bench-") as folder, Herd(Path(folder)) as herd,
          Daemon(["--log-level=err"]) as daemon,
          Meter("subscribers", cpu, daemon.socket, subscribers, count, DEADLINE) as crowd):
        crowd.numbers()
        for _ in range(silent):
            daemon.client().send("Subscribe", {}, more=True)
        before = cpu_us(daemon.pid)
        late = herd.measure("rate", count, rate)[0]
        least, most, overruns = (int(number) for number in crowd.numbers())
        waits = [us / 1000 for us in crowd.numbers()]
        spent = (cpu_us(daemon.pid) - before) / 1000
        lost = counter(daemon, "recordsLost")
        ends = measure_end(daemon, herd)
    row.add(f"{title}: not told to one of them", "", [count - least], 0)
    row.add(f"{title}: detected -> ready at the subscribers", "ms", waits)
    row.add(f"{title}: the daemon's processor time for a start", "us", [spent * 1000 / count])
    row.add(f"{title}: the daemon's processor time for the end of all {count}", "ms", [ends])
    if most > count or overruns or lost or late > 1e6 / rate:
        row.note(f"{title}: told at most {most} of {count}, {overruns} overruns, {lost} records "
                 f"lost, the last start {late / 1000:.1f} ms late")
    series[title] = [((index + 1) / len(waits), wait) for index, wait in enumerate(waits)]
    return spent, ends


def measure(row: Row, scale: Scale, cpu: int) -> None:
    """At two rates, and with two numbers of subscribers."""
    series: dict[str, list[tuple[float, float]]] = {}
    few, rate = scale.few, scale.rates[0]
    rates = [measure_load(row, cpu, each, few, scale.seconds, series) for each in scale.rates]
    measure_load(row, cpu, rate, few, scale.seconds, series, silent=few)
    crowds = [measure_load(row, cpu, rate, each, scale.seconds, series)
              for each in scale.subscribers]
    row.growth("processor time with the rate",
               [(each, spent) for each, (spent, _) in zip(scale.rates, rates)])
    row.growth("processor time with the subscribers",
               [(each, spent) for each, (spent, _) in zip(scale.subscribers, crowds)])
    row.growth("processor time of a common end with the processes",
               [(each * scale.seconds, ends) for each, (_, ends) in zip(scale.rates, rates)])
    row.curves("detected -> ready", "part of what was told", "milliseconds", series, straight=True)
