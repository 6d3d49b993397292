# SPDX-License-Identifier: MIT
"""A subscriber that keeps everything it is told, and checks that the telling keeps the contract."""

import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from lib.varlink import TIMEOUT, Client, VarlinkError

Process = dict[str, Any]

# Which states may follow which. None: this subscriber was not told of the process before.
FOLLOWS: dict[str | None, set[str]] = {
    None: {"detected", "ready", "unreachable"},
    "detected": {"detected", "ready", "unreachable", "gone"},
    "unreachable": {"unreachable", "ready", "gone"},
    "ready": {"ready", "gone"},
}


class Event(NamedTuple):
    """One thing told. A page of a snapshot becomes one event for each process in it."""

    kind: str
    sequence: int
    process: Process | None = None
    previous: str | None = None

    @classmethod
    def from_reply(cls, reply: dict[str, Any]) -> list["Event"]:
        """The events that one reply of Subscribe holds."""
        kind, sequence = reply["kind"], reply["sequence"]
        if kind == "snapshot":
            return [cls(kind, sequence, process) for process in reply.get("processes", [])]
        return [cls(kind, sequence, reply.get("process"), reply.get("previousState"))]

    def about(self, pid: int, state: str | None = None) -> bool:
        """Whether it tells of this process, in this state where one is given."""
        return (self.process is not None and self.process["pid"] == pid
                and state in (None, self.process["state"]))


class View:
    """What a subscriber knows by now, and where it was told something the contract forbids."""

    def __init__(self) -> None:
        self.alive: dict[str, Process] = {}
        self.synced = False
        self.problems: list[str] = []
        self._gone: set[str] = set()
        self._sequence = 0  # of the last change
        self._paged: set[str] = set()  # ids in the snapshot under way
        self._stale: set[str] = set()  # ids known before the snapshot and not told of since

    def feed(self, event: Event) -> None:
        """Takes the next event in."""
        match event.kind:
            case "snapshot":
                self._feed_snapshot(event)
            case "changed":
                self._feed_changed(event)
            case "synced":
                self._require(not self.synced, "synced twice", event)
                for identity in self._stale:
                    self.alive.pop(identity, None)
                self.synced = True
            case "overrun":
                self._require(self.synced, "overrun before synced", event)
                self._paged, self._stale = set(), set(self.alive)
                self.synced = False
            case _:
                self._require(False, "of an unknown kind", event)

    def _feed_snapshot(self, event: Event) -> None:
        identity = event.process["id"]
        self._require(not self.synced, "in a snapshot after synced", event)
        self._require(identity not in self._paged, "twice in one snapshot", event)
        self._require(identity not in self._gone, "in a snapshot after gone", event)
        self._paged.add(identity)
        self._tell(identity, event.process)

    def _feed_changed(self, event: Event) -> None:
        identity, state = event.process["id"], event.process["state"]
        known = self.alive.get(identity)
        before = known["state"] if known else None
        self._require(event.sequence > self._sequence, f"not after {self._sequence}", event)
        self._require(identity not in self._gone, "told after gone", event)
        if known:
            self._require(event.process["sequence"] > known["sequence"], "nothing new", event)
        if self.synced:  # before it, changes may have been dropped in between
            self._require(event.previous == before, f"previousState is not {before}", event)
            self._require(state in FOLLOWS[before], f"{state} after {before}", event)
        self._sequence = event.sequence
        self._tell(identity, event.process)
        if state == "gone":
            del self.alive[identity]
            self._gone.add(identity)

    def _tell(self, identity: str, process: Process) -> None:
        self._stale.discard(identity)
        self.alive[identity] = process

    def _require(self, holds: bool, what: str, event: Event) -> None:
        if not holds:
            self.problems.append(f"{what}: {event}")


class Subscription:
    """One running Subscribe; a thread reads it, so that a busy test is no slow subscriber."""

    def __init__(self, peer: str | socket.socket, parameters: dict[str, Any]):
        self.log: list[Event] = []
        self.view = View()
        self.ended: Exception | None = None
        self._client = Client(peer)
        self._about: defaultdict[int, list[Event]] = defaultdict(list)  # the log of each pid
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._read, args=(parameters,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the connection; the log stays."""
        self._client.close()
        self._thread.join(TIMEOUT)

    def check(self) -> None:
        """Fails where it was told something the contract forbids, or what nobody can read."""
        problems = list(self.view.problems)
        if not isinstance(self.ended, (EOFError, OSError)):
            problems.append(f"ended by {self.ended!r}")
        assert not problems, "\n".join(problems)

    def wait_for(self, predicate: Callable[[Event], bool], timeout: float = TIMEOUT) -> Event:
        """The first event, of all since the beginning, for which the predicate holds."""
        return self._wait_in(self.log, predicate, timeout)

    def wait_state(self, pid: int, state: str, timeout: float = TIMEOUT) -> Process:
        """The process as it was first told to be in this state, by snapshot or change."""
        return self._wait_in(self._log_of(pid), lambda event: event.about(pid, state),
                             timeout).process

    def wait_synced(self, timeout: float = TIMEOUT) -> Event:
        """The end of the first snapshot."""
        return self.wait_for(lambda event: event.kind == "synced", timeout)

    def wait_ended(self, timeout: float = TIMEOUT) -> None:
        """The end of the connection."""
        self._thread.join(timeout)
        assert self.ended, f"still subscribed after {timeout} s"

    def of(self, pid: int) -> list[Event]:
        """All that was told of this pid, in order."""
        with self._news:
            return list(self._about[pid])

    def states(self, pid: int) -> list[str]:
        """The states this pid was told to be in, one after another, repeats left out."""
        states: list[str] = []
        for event in self.of(pid):
            if states[-1:] != [event.process["state"]]:
                states.append(event.process["state"])
        return states

    def alive(self, *pids: int) -> dict[int, Process]:
        """Those of these processes which it takes to be there now; of all, where none is named."""
        with self._news:
            return {process["pid"]: process for process in self.view.alive.values()
                    if not pids or process["pid"] in pids}

    def _wait_in(self, log: list[Event], predicate: Callable[[Event], bool],
                 timeout: float) -> Event:
        """wait_for() in one of the logs."""
        deadline = time.monotonic() + timeout
        seen = 0
        while True:
            with self._news:
                more = self._news.wait_for(lambda: len(log) > seen or self.ended,
                                           deadline - time.monotonic())
                events = log[seen:]
            for event in events:
                if predicate(event):
                    return event
            seen += len(events)
            if not events:
                raise AssertionError(f"no such event: {self.ended!r}" if more else
                                     f"no such event in {timeout} s among the last {self.log[-8:]}")

    def _log_of(self, pid: int) -> list[Event]:
        with self._news:
            return self._about[pid]

    def _read(self, parameters: dict[str, Any]) -> None:
        try:
            self._client.send("Subscribe", parameters, more=True)
            while True:
                message = self._client.recv_message(timeout=None)
                if "error" in message:
                    raise VarlinkError(message["error"], message.get("parameters", {}))
                self._take(Event.from_reply(message["parameters"]))
        except Exception as error:  # whatever it is, it is for the test's thread to tell
            with self._news:
                self.ended = error
                self._news.notify_all()

    def _take(self, events: list[Event]) -> None:
        with self._news:
            for event in events:
                self.log.append(event)
                if event.process:
                    self._about[event.process["pid"]].append(event)
                self.view.feed(event)
            self._news.notify_all()
