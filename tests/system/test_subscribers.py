# SPDX-License-Identifier: MIT
"""The daemon is restarted, and killed, under a hundred subscribers, while processes come and go."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import guest
from lib.fakes import Fakes
from lib.subscription import Event, Process, View
from lib.varlink import TIMEOUT

SUBSCRIBERS = 100
CROWD = 30  # processes that begin in each part of the story; a third of them stays
# The next daemon is held back until a line comes through the gate.
GATE = Path("/run/gate")
HELD_BACK = f"[Service]\nExecStartPre=/bin/sh -c 'read line < {GATE}'\n"


class Life(NamedTuple):
    """One life of one process, as everybody can know it."""

    pid: int
    start_time: int

    @classmethod
    def of(cls, pid: int) -> "Life":
        """That of this process, which runs."""
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        return cls(pid, int(stat.rpartition(b")")[2].split()[19]))

    @classmethod
    def told(cls, process: Process) -> "Life":
        """That which the daemon tells of."""
        return cls(process["pid"], process["startTime"])


class Subscriber:
    """Subscribes, and does so again at once whenever the daemon has gone.

    What it knows outlives the connection: each snapshot says which of what it knew is gone.
    """

    def __init__(self) -> None:
        self.events = 0
        self.connections = 0
        self.alive: dict[str, Process] = {}  # by id
        self.gone: dict[str, Process] = {}
        self.problems: list[str] = []
        self._view = View()  # of the connection
        self._client = guest.Client()
        self._leaves = False
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Ends it."""
        self._leaves = True
        self._client.close()
        self._thread.join(TIMEOUT)

    def wait(self, holds: Callable[["Subscriber"], bool], what: str) -> None:
        """Returns when this holds."""
        with self._news:
            held = self._news.wait_for(lambda: holds(self), TIMEOUT)
            assert held, f"not {what} after {TIMEOUT} s: {self.alive}"

    @property
    def synced(self) -> bool:
        """Whether it has its snapshot."""
        return self._view.synced

    def _follow(self) -> None:
        try:
            while True:
                self._client.send("Subscribe", {}, more=True)
                with self._news:
                    self._view = View()
                    self.connections += 1
                    self._news.notify_all()
                self._read()
                if self._leaves:
                    return
                self._client.close()
                self._client = guest.Client()
        except Exception as error:  # whatever it is, it is for the test's thread to tell
            self.problems.append(repr(error))

    def _read(self) -> None:
        try:
            while True:
                message = self._client.recv_message(timeout=None)
                with self._news:
                    for event in Event.from_reply(message["parameters"]):
                        self._take(event)
                    self._news.notify_all()
        except (EOFError, OSError):
            self.problems += self._view.problems

    def _take(self, event: Event) -> None:
        self.events += 1
        self._view.feed(event)
        if event.kind == "synced":
            for identity in self.alive.keys() - self._view.alive.keys():
                self.gone[identity] = self.alive.pop(identity)
        if event.process:
            identity = event.process["id"]
            if identity in self.gone:
                self.problems.append(f"told after gone: {event}")
            if event.process["state"] == "gone":
                self.alive.pop(identity, None)
                self.gone[identity] = event.process
            else:
                self.alive[identity] = event.process


class Subscribers(guest.Scenario):
    """A hundred profilers follow all .NET processes of a machine: many that come and go, and three
    services. The daemon is restarted, later killed. Its subscribers connect anew at once, which
    before the next daemon is there means that they wait in the queue of its socket. Whatever
    begins and ends before, meanwhile and afterwards: in the end each of them knows exactly what
    runs, and was told of the end of everything else that it was ever told of.
    """

    def setUp(self) -> None:
        self.running: set[Life] = set()
        self.ended: set[Life] = set()
        self.known: set[Life] = set()  # to every subscriber, at some time
        self.crowd = self.enterContext(Fakes())
        self.stays, self.ends, self.begins = map(guest.dotnet_service, ("stays", "ends", "begins"))
        os.mkfifo(GATE)
        guest.drop_in(guest.SERVICE, HELD_BACK)
        self.subscribers = [Subscriber() for _ in range(SUBSCRIBERS)]
        for subscriber in self.subscribers:
            self.addCleanup(subscriber.leave)

    def test_each_knows_the_truth_in_the_end(self) -> None:
        self.start(self.stays)
        self.start(self.ends)
        self.come_and_go()
        self.wait_truth()

        self.come_and_go()
        restart = ["systemctl", "restart", "--no-block", guest.SERVICE]
        with self.daemon_away("restarted", lambda: guest.run(*restart)):
            self.stop(self.ends)
            self.come_and_go()
        self.come_and_go()
        self.wait_truth()

        daemon = guest.main_pid()
        self.come_and_go()
        with self.daemon_away("killed", lambda: os.kill(daemon, signal.SIGKILL)):
            self.start(self.begins)
            self.come_and_go()
        self.stop(self.stays)
        self.start(self.ends)
        self.come_and_go()
        self.wait_truth()

        for subscriber in self.subscribers:
            subscriber.leave()
            self.assertEqual(subscriber.problems, [])
            self.assertEqual(subscriber.connections, 3)
            self.assertEqual(lives(subscriber.alive), self.running)
            gone = lives(subscriber.gone)
            self.assertEqual(len(gone), len(subscriber.gone), "a life had two ids")
            self.assertLessEqual(gone, self.ended)
            self.assertLessEqual(self.ended & self.known, gone)
        events = sum(subscriber.events for subscriber in self.subscribers)
        print(f"{SUBSCRIBERS} subscribers were told {events} events of "
              f"{len(self.running | self.ended)} processes. {len(self.ended)} of these had ended, "
              f"{len(self.ended - self.known)} before it was certain that all knew them")

    # ---- what happens

    def start(self, service: guest.DotnetService) -> None:
        """A service begins."""
        self.running.add(Life.of(service.start()))

    def stop(self, service: guest.DotnetService) -> None:
        """A service ends."""
        pid = service.pid
        service.stop()
        self.note_end(pid)

    def come_and_go(self) -> None:
        """Many begin. Half of them end, and so do half of those that there were."""
        services = {service.pid for service in (self.stays, self.ends, self.begins)}
        old = [life.pid for life in self.running if life.pid not in services]
        new = self.crowd.spawn(CROWD)
        self.running.update(map(Life.of, new))
        ends = old[::2] + new[::2]
        self.crowd.end(*ends)
        self.note_end(*ends)

    def note_end(self, *pids: int) -> None:
        """These have ended."""
        ended = {life for life in self.running if life.pid in pids}
        self.running -= ended
        self.ended |= ended

    @contextmanager
    def daemon_away(self, what: str, act: Callable[[], object]) -> Iterator[None]:
        """There is no daemon inside, and all subscribers wait for the next one."""
        connections = self.subscribers[0].connections
        with guest.exit_of(guest.main_pid()):
            act()
        for subscriber in self.subscribers:
            subscriber.wait(lambda it: it.connections > connections, "connected again")
        yield
        self.assertFalse(any(subscriber.synced for subscriber in self.subscribers))
        started = time.monotonic()
        guest.run("/bin/sh", "-c", f"echo > {GATE}")
        for subscriber in self.subscribers:
            subscriber.wait(lambda it: it.synced, "synced")
        took = time.monotonic() - started
        print(f"{what}: {SUBSCRIBERS} subscribers waited at the socket, and had their snapshots "
              f"{took * 1000:.0f} ms after the next daemon could start")

    def wait_truth(self) -> None:
        """Returns when to each subscriber what runs is ready, and nothing else is there."""
        def holds(subscriber: Subscriber) -> bool:
            states = {process["state"] for process in subscriber.alive.values()}
            return lives(subscriber.alive) == self.running and states == {"ready"}

        for subscriber in self.subscribers:
            subscriber.wait(holds, "told the truth")
        self.known |= self.running


def lives(processes: dict[str, Process]) -> set[Life]:
    """Of processes by id."""
    return set(map(Life.told, processes.values()))
