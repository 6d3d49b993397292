# SPDX-License-Identifier: MIT
"""How soon a process is told `ready`, beside what others need to have its answer.

Each round starts the same program once in each way, in an order that turns with it: once with
subscribers of the daemon, once with a client that knows the socket beforehand, once with a poller.
Clocks start twice: with the listen(2) and with the mapping, which runtimes make after it. A fake
process takes both moments right before its system call; those of a runtime are the kernel's own, by
a tracer that sleeps until it is asked. The daemon and the tracer run in every way, so that the
process pays the same in each.
"""

import math
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest import SkipTest

import programs
from figures import Row, median, ratios
from lib.bus import Bus
from lib.daemon import Daemon
from meter import Herd, Meter, Numbers, rival
from row_processes import grow
from scale import Scale

TITLE = "how soon it is told"
PROGRAMS = {"native-aot": "NativeAOT", "framework-dependent": "CoreCLR"}
POLL_MS = 15
GOAL = 1.5
CLOCKS = ("listen", "mapping")
BARE = "a client that knows the socket"
SUBSCRIBERS = {"varlink": "a Varlink subscriber", "bus": "a D-Bus subscriber"}
WAYS = {"varlink": "ready at a Varlink subscriber", "answered": "answer at the daemon",
        "bus": "ready at a D-Bus subscriber", "bare": f"answer at {BARE}",
        "poll": f"answer at a poller of {POLL_MS} ms"}

NOT_KNOWN = math.nan
Values = dict[str, Numbers]


class Watchers:
    """Subscribers of both interfaces, each a process that writes what comes and when."""

    def __init__(self, stack: ExitStack, cpu: int, daemon: Daemon, bus: Bus):
        self._varlink = stack.enter_context(Meter("watch", cpu, daemon.socket))
        self._bus = stack.enter_context(Meter("watch-bus", cpu, env=os.environ | bus.env))
        assert self._varlink.read_line() == "synced"
        assert self._bus.read_line() == "listening"

    def wait_ready(self, pid: int) -> dict[str, float]:
        """When it came by Varlink and by D-Bus, and when it had answered."""
        while (line := self._varlink.numbers())[0] != pid:
            pass
        while (signal := self._bus.numbers())[0] != pid:
            pass
        return {"varlink": line[1], "bus": signal[1], "answered": line[3]}


class Start:
    """A start of a real program."""

    def __init__(self, stack: ExitStack, tracer: Meter, name: str):
        self.sample = stack.enter_context(programs.Sample(name))
        self.pid = self.sample.pid
        self.folder = Path(programs.ENVIRONMENT["TMPDIR"])
        self.tracer = tracer

    def go(self) -> None:
        """It runs already."""

    def moments(self) -> Numbers:
        """When it listened and mapped; 0 where nobody could tell."""
        return self.tracer.measure(self.pid)

    def settle(self) -> None:
        """Until its Main runs."""
        self.sample.wait_main()


class FakeStart:
    """The same of a fake process, which waits for a word and takes the moments itself."""

    def __init__(self, herd: Herd):
        self.herd = herd
        self.pid = herd.one()
        self.folder = herd.folder
        self.taken: Numbers = []

    def go(self) -> None:
        """Lets it begin."""
        self.taken = self.herd.go()

    def moments(self) -> Numbers:
        """When it was about to listen and to map."""
        return self.taken

    def settle(self) -> None:
        """It has nothing else to do."""


class Ways:
    """One start in each way. Values are microseconds, by clock and name."""

    def __init__(self, watchers: Watchers, client: Meter):
        self.watchers = watchers
        self.client = client
        self.values: Values = defaultdict(list)

    def subscribe(self, start: Start | FakeStart) -> None:
        """The daemon's subscribers."""
        start.go()
        self._keep(start, self.watchers.wait_ready(start.pid))
        start.settle()
        self.values["exchange"] += self.client.measure("ask", start.folder, start.pid, 1)

    def bare(self, start: Start | FakeStart) -> None:
        """A client that knows the socket."""
        self._rival("bare", start, "bare", start.folder, start.pid)

    def poll(self, start: Start | FakeStart) -> None:
        """A poller of the folder."""
        self._rival("poll", start, "poll", start.folder, start.pid, POLL_MS)

    def _rival(self, name: str, start: Start | FakeStart, *order: object) -> None:
        self.client.send(*order)
        assert self.client.read_line() == "waiting"
        start.go()
        came = self.client.numbers()[0]
        self.watchers.wait_ready(start.pid)
        self._keep(start, {name: came})

    def _keep(self, start: Start | FakeStart, came: dict[str, float]) -> None:
        began = dict(zip(CLOCKS, start.moments()))
        if all(began.values()):
            self.values["between"].append(began["mapping"] - began["listen"])
        for name, moment in came.items():
            for clock in CLOCKS:
                self.values[f"{clock} {name}"].append(moment - (began[clock] or NOT_KNOWN))


def tell(row: Row, title: str, values: Values) -> None:
    """The figures of one program."""
    row.add(f"{title}: listen -> mapping", "us", values["between"])
    for clock in CLOCKS:
        for way, name in WAYS.items():
            row.add(f"{title}: {clock} -> {name}", "us", known(values[f"{clock} {way}"]))
        for way, name in SUBSCRIBERS.items():
            row.add(f"{title}: from {clock}: {name} / {BARE}", "ratio",
                    judged(row, f"{title}: from {clock}", values[f"{clock} {way}"],
                           values[f"{clock} bare"]), GOAL)
    row.add(f"{title}: one exchange when idle", "us", values["exchange"])
    row.bars(title, "microseconds after listen(2)",
             {f"{title}: listen -> {WAYS[way]}": label for way, label in {
                 "varlink": "Varlink subscriber", "bus": "D-Bus subscriber",
                 "bare": "knows the socket", "poll": f"poller, {POLL_MS} ms"}.items()})


def known(values: Numbers) -> Numbers:
    """Without those of which a moment was not to be had."""
    return [value for value in values if not math.isnan(value)]


def judged(row: Row, title: str, ours: Numbers, bare: Numbers) -> Numbers:
    """Ratios of rounds; none of those in which the client had its answer before the clock began."""
    pairs = [(value, other) for value, other in zip(ours, bare, strict=True)
             if not math.isnan(value + other)]
    before = sum(other <= 0 for _, other in pairs)
    if before:
        row.note(f"{title}: in {before} of {len(pairs)} rounds {BARE} had its answer before")
    pairs = [pair for pair in pairs if pair[1] > 0]
    return ratios([value for value, _ in pairs], [other for _, other in pairs])


def measure_program(row: Row, rounds: int, title: str, ways: Ways,
                    start: Callable[[ExitStack], Start | FakeStart]) -> None:
    """All rounds of one program."""
    row.progress(title)
    order = [ways.subscribe, ways.bare, ways.poll]
    for number in range(rounds):
        at = number % len(order)
        for way in order[at:] + order[:at]:
            with ExitStack() as stack:
                way(start(stack))
    tell(row, title, ways.values)


def measure_tool(row: Row, scale: Scale, watchers: Watchers, tracer: Meter) -> None:
    """`dotnet-trace ps` in a loop, until it lists the process."""
    argv = [*programs.program("dotnet-trace")["argv"], "ps"]
    row.progress("dotnet-trace ps")
    values = []
    for _ in range(scale.tools):
        with ExitStack() as stack:
            start = Start(stack, tracer, "native-aot")
            listed: list[str] = []
            while str(start.pid) not in listed:
                listed = subprocess.run(argv, env=programs.ENVIRONMENT, text=True, check=True,
                                        stdin=subprocess.DEVNULL,
                                        capture_output=True).stdout.split()
            moment = time.clock_gettime(time.CLOCK_BOOTTIME) * 1e6
            watchers.wait_ready(start.pid)
            values.append(moment - (start.moments()[0] or NOT_KNOWN))
    row.add("NativeAOT: listen -> listed by `dotnet-trace ps` in a loop", "us", known(values))


def measure_records(row: Row, scale: Scale, cpu: int, beside: int) -> float:
    """From the mapping to the record, with so many processes of .NET there; the median."""
    with Meter("record", cpu, "auto", scale.records) as record:
        mechanism = record.read_line()
        values = [record.numbers()[0] for _ in range(scale.records)]
    if not beside:
        row.note(f"mechanism: {mechanism}")
    others = f" beside {beside} processes" if beside else ""
    row.add(f"mmap(2) -> record in the daemon's source{others}", "us", values)
    return median(values)


def measure_beside(row: Row, scale: Scale, cpu: int, daemon: Daemon, watchers: Watchers,
                   client: Meter, herd: Herd, alone: Ways, record: float) -> None:
    """The same of a fake process when many others are listed, and how it grows with them."""
    count = scale.beside
    row.progress(f"fake process beside {count} others")
    ways = Ways(watchers, client)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Herd(Path(folder)) as others:
        grow(daemon, others, 0, count, cpu)
        records = measure_records(row, scale, cpu, count)
        for _ in range(scale.starts):
            ways.subscribe(FakeStart(herd))
        others.end()
    # A process that starts is one of those listed.
    row.growth("the time until a record with the processes", [(1, record), (count + 1, records)])
    for way, name in SUBSCRIBERS.items():
        title = f"listen -> ready at {name}"
        few, many = (each.values[f"listen {way}"] for each in (alone, ways))
        row.add(f"fake process beside {count} others: {title}", "us", many)
        row.growth(f"{title} with the processes", [(1, median(few)), (count + 1, median(many))])


def measure(row: Row, scale: Scale, cpu: int) -> None:
    """From the mapping to the record, and from either moment to `ready`."""
    record = measure_records(row, scale, cpu, 0)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        bus = stack.enter_context(Bus())
        bus.start()
        daemon = stack.enter_context(Daemon(env=bus.env, wrapper=bus.wrapper))
        bus.wait_name()
        watchers = Watchers(stack, cpu, daemon, bus)
        tracer = stack.enter_context(rival("moments"))
        client = stack.enter_context(Meter("clients", cpu))
        herd = stack.enter_context(Herd(folder))
        fakes = Ways(watchers, client)
        measure_program(row, scale.starts, "fake process", fakes, lambda _: FakeStart(herd))
        herd.end()
        for name, title in PROGRAMS.items():
            try:
                measure_program(row, scale.starts, title, Ways(watchers, client),
                                lambda inner, name=name: Start(inner, tracer, name))
            except SkipTest as reason:
                row.note(f"not measured: {title}: {reason}")
        try:
            measure_tool(row, scale, watchers, tracer)
        except SkipTest as reason:
            row.note(f"not measured: dotnet-trace: {reason}")
        measure_beside(row, scale, cpu, daemon, watchers, client, herd, fakes, record)
