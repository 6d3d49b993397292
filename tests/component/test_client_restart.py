# SPDX-License-Identifier: MIT
"""monitor and wait when the daemon ends under them; most daemons here are played by the test, so
that each reply and each end comes when the story wants it."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from lib.child import Child, readable
from lib.daemon import DISCOVERYCTL, DISCOVERYD
from lib.fakes import Fakes
from lib.require import require_bpf
from lib.varlink import INTERFACE, TIMEOUT, Client

ENDED = "has ended the connection"
BACK = "is back"


def process(number: int, state: str = "ready", **fields: Any) -> dict[str, Any]:
    """A process as the daemon tells it; the number is its pid and makes its id."""
    return {"id": f"life-{number}", "pid": number, "startTime": 1, "state": state, "uid": 0,
            "command": f"app{number}", "signal": "scan", "detectedBoottimeUSec": 1,
            "detectedRealtimeUSec": 1_700_000_000_000_000, "sequence": 1} | fields


class Call:
    """A call that was taken from the listening socket."""

    def __init__(self, connection: socket.socket, method: str):
        self.connection = connection
        connection.settimeout(TIMEOUT)
        received = b""
        while not received.endswith(b"\0"):
            received += connection.recv(4096)
        assert json.loads(received[:-1])["method"] == f"{INTERFACE}.{method}"

    def reply(self, **parameters: Any) -> None:
        """One more reply."""
        self.answer(parameters={"sequence": 1} | parameters, continues=True)

    def answer(self, **message: Any) -> None:
        """The only reply."""
        self.connection.sendall(json.dumps(message).encode() + b"\0")

    def snapshot(self, *processes: dict[str, Any]) -> None:
        """The state of things, whole."""
        self.reply(kind="snapshot", processes=processes)
        self.reply(kind="synced")

    def changed(self, changed: dict[str, Any], previous: str | None = None) -> None:
        """A change."""
        more = {"previousState": previous} if previous else {}
        self.reply(kind="changed", process=changed, **more)

    def end(self) -> None:
        """The daemon ends."""
        self.connection.close()


class Played(unittest.TestCase):

    def setUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        self.path = str(folder / INTERFACE)
        self.stderr = (folder / "stderr").open("w+")
        self.addCleanup(self.stderr.close)
        self.listener = self.enterContext(socket.socket(socket.AF_UNIX))
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.settimeout(TIMEOUT)

    def start(self, *arguments: str) -> Child:
        """The client, asking here."""
        return self.enterContext(Child([DISCOVERYCTL, f"--socket={self.path}", *arguments],
                                       stderr=self.stderr))

    def accept(self, method: str = "Subscribe") -> Call:
        """The next call, which is this."""
        connection, _ = self.listener.accept()
        self.addCleanup(connection.close)
        return Call(connection, method)

    def told(self) -> str:
        """What the client, which has ended, wrote to standard error."""
        self.stderr.seek(0)
        return self.stderr.read()

    def assert_lines(self, child: Child, *wanted: tuple[str, int]) -> None:
        """The next lines tell of these states and pids."""
        lines = [child.read_line().split() for _ in wanted]
        self.assertEqual([(line[3], int(line[4])) for line in lines], list(wanted))


class Monitor(Played):

    def end(self, call: Call, monitor: Child) -> str:
        """The daemon ends for good, and so does the client."""
        self.listener.close()
        call.end()
        with self.assertRaises(EOFError):
            self.fail(monitor.read_line())
        self.assertEqual(monitor.wait(), 69)
        return self.told()

    def test_another_daemon_is_asked_what_differs(self) -> None:
        monitor = self.start("monitor")
        call = self.accept()
        call.snapshot(process(1), process(2), process(3, "detected"))
        self.assertEqual(monitor.read_line().split(),
                         ["TIME", "STATE", "PID", "VERSION", "USER", "ENTRY", "DETAIL"])
        self.assert_lines(monitor, ("ready", 1), ("ready", 2), ("detected", 3))
        call.end()
        call = self.accept()
        call.snapshot(process(1, sequence=9, signal="mapping"), process(3), process(4, "detected"))
        self.assert_lines(monitor, ("ready", 3), ("detected", 4), ("gone", 2))
        call.changed(process(4), "detected")
        self.assert_lines(monitor, ("ready", 4))
        told = self.end(call, monitor)
        self.assertEqual(told.count(ENDED), 1)
        self.assertIn(f"{BACK}. 3 .NET processes", told)
        self.assertIn("is not running", told)

    def test_one_not_asked_yet_is_what_it_was(self) -> None:
        monitor = self.start("monitor", "--no-legend")
        call = self.accept()
        call.snapshot(process(1), process(2))
        self.assert_lines(monitor, ("ready", 1), ("ready", 2))
        call.end()
        call = self.accept()
        call.snapshot(process(1, "detected"), process(2, "detected"))
        call.changed(process(1), "detected")
        call.changed(process(2, "unreachable", reason="timeout"), "detected")
        call.changed(process(1, "gone"), "ready")
        self.assert_lines(monitor, ("unreachable", 2), ("gone", 1))
        self.assertNotIn(BACK, self.end(call, monitor))

    def test_a_daemon_that_ends_in_its_snapshot_has_not_told_who_is_gone(self) -> None:
        monitor = self.start("monitor", "--no-legend")
        call = self.accept()
        call.snapshot(process(1), process(2))
        self.assert_lines(monitor, ("ready", 1), ("ready", 2))
        call.end()
        call = self.accept()
        call.reply(kind="snapshot", processes=[process(1)])
        call.end()
        call = self.accept()
        call.snapshot(process(2))
        self.assert_lines(monitor, ("gone", 1))
        self.end(call, monitor)

    def test_one_that_does_not_match_yet_is_not_gone(self) -> None:
        for answer, line in (({"parameters": {"process": process(1, "detected")}}, None),
                             ({"parameters": {"process": process(1, "unreachable")}},
                              ("unreachable", 1)),
                             ({"error": "org.example.Other", "parameters": {}}, None),
                             ({"error": f"{INTERFACE}.NoSuchProcess", "parameters": {"pid": 1}},
                              ("gone", 1))):
            with self.subTest(answer):
                monitor = self.start("monitor", "--no-legend", "entryAssembly=a*")
                call = self.accept()
                call.snapshot(process(1))
                self.assert_lines(monitor, ("ready", 1))
                call.end()
                call = self.accept()
                call.snapshot()
                self.accept("Get").answer(**answer)
                call.changed(process(2))
                self.assert_lines(monitor, *([line] if line else []), ("ready", 2))

    def test_a_daemon_that_gives_no_answer_is_asked_nothing_more(self) -> None:
        for answer in (b"nonsense\0", b""):
            with self.subTest(answer):
                monitor = self.start("monitor", "--no-legend", "entryAssembly=a*")
                call = self.accept()
                call.snapshot(process(1), process(2), process(3))
                self.assert_lines(monitor, ("ready", 1), ("ready", 2), ("ready", 3))
                call.end()
                call = self.accept()
                call.snapshot()
                question = self.accept("Get").connection
                question.sendall(answer)
                question.shutdown(socket.SHUT_WR)
                self.assertEqual(question.recv(4096), b"")
                call.changed(process(4))  # the others are as they were
                self.assert_lines(monitor, ("ready", 4))

    def test_after_an_overrun_only_what_differs_follows(self) -> None:
        monitor = self.start("monitor", "--no-legend")
        call = self.accept()
        call.snapshot(process(1), process(2))
        call.reply(kind="overrun")
        call.snapshot(process(2), process(3))
        self.assert_lines(monitor, ("ready", 1), ("ready", 2), ("ready", 3), ("gone", 1))
        self.assertIn("dropped", self.end(call, monitor))

    def test_json_is_every_reply(self) -> None:
        monitor = self.start("monitor", "--json=short")
        for last in (False, True):
            call = self.accept()
            call.snapshot(process(1))
            snapshot, synced = (json.loads(monitor.read_line()) for _ in range(2))
            self.assertEqual((snapshot["processes"], synced["kind"]), ([process(1)], "synced"))
            if not last:
                call.end()
        self.assertIn(ENDED, self.end(call, monitor))

    def test_daemons_that_end_without_a_word_are_not_called_forever(self) -> None:
        monitor = self.start("monitor")
        for _ in range(4):
            self.accept().end()
        self.assertEqual(monitor.wait(), 1)
        self.assertIn(ENDED, self.told())

    def test_daemons_that_end_after_a_word_are_not_called_forever(self) -> None:
        for arguments in (["monitor"], ["monitor", "--json=short"], ["wait", "pid=7"]):
            with self.subTest(arguments):
                client = self.start(*arguments)
                for _ in range(100):
                    if client.pidfd in readable([self.listener, client.pidfd], TIMEOUT):
                        break
                    call = self.accept()
                    call.snapshot()
                    call.end()
                self.assertEqual(client.wait(), 1)

    def test_words_of_a_newer_daemon_are_shown(self) -> None:
        monitor = self.start("monitor", "--no-legend")
        call = self.accept()
        call.snapshot(process(1, "frozen", reason="too_cold", detail="-40", mood="bad"))
        call.reply(kind="weather", wind=3)
        call.changed(process(1, "molten"), "frozen")
        line = monitor.read_line()
        self.assertIn("frozen", line)
        self.assertIn("too_cold: -40", line)
        self.assert_lines(monitor, ("molten", 1))
        self.end(call, monitor)


class Wait(Played):

    def test_another_daemon_is_asked(self) -> None:
        wait = self.start("wait", "command=app*", "--timeout=1h")
        self.accept().end()
        call = self.accept()
        call.snapshot()
        call.end()
        call = self.accept()
        call.reply(kind="snapshot", processes=[process(6, "detected"), process(7)])
        self.assertEqual((wait.read_line(), wait.wait(), self.told()), ("7", 0, ""))

    def test_the_timeout_is_that_of_all(self) -> None:
        wait = self.start("wait", "pid=7", "--timeout=100ms")
        call = self.accept()
        call.snapshot()
        call.end()
        self.accept().snapshot()
        self.assertEqual(wait.wait(), 4)

    def test_it_ends_where_nobody_listens(self) -> None:
        wait = self.start("wait", "pid=7")
        call = self.accept()
        self.listener.close()
        call.end()
        self.assertEqual(wait.wait(), 69)


class Activated(unittest.TestCase):
    """The real daemon on a socket that somebody else holds, as a service manager does."""

    def setUp(self) -> None:
        require_bpf()
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        self.path = str(folder / INTERFACE)
        self.listener = self.enterContext(socket.socket(socket.AF_UNIX))
        self.listener.bind(self.path)
        self.listener.listen()

    def daemon(self) -> Child:
        """A daemon that is given the socket."""
        def pass_socket() -> None:
            os.dup2(self.listener.fileno(), 3)

        argv = ["/bin/sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', "sh", DISCOVERYD]
        return self.enterContext(Child(argv, preexec_fn=pass_socket, pass_fds=[3],
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def test_killed_under_both(self) -> None:
        fakes = self.enterContext(Fakes())
        name = f"entryAssembly={fakes.assembly}"
        argv = [DISCOVERYCTL, f"--socket={self.path}", "--no-legend"]
        first, second = fakes.spawn(2)
        monitor = self.enterContext(Child([*argv, "monitor", name]))
        wait = self.enterContext(Child([*argv, "wait", name, "command=late"]))
        daemon = self.daemon()  # both have called before it was there
        states = {}
        while states != {first: "ready", second: "ready"}:
            line = monitor.read_line().split()
            states[int(line[4])] = line[3]
        with Client(self.path) as client:  # is served after those who came before
            client.call("Status")
        daemon.kill(signal.SIGKILL)
        daemon.wait()
        fakes.end(first)
        third = fakes.spawn_one(command="late")
        self.daemon()
        self.assertEqual((wait.read_line(), wait.wait()), (str(third), 0))
        while states != {first: "gone", second: "ready", third: "ready"}:
            line = monitor.read_line().split()
            self.assertNotEqual(int(line[4]), second, f"nothing has happened to this one: {line}")
            states[int(line[4])] = line[3]

    def test_who_has_called_is_served_when_each_process_was_asked(self) -> None:
        silent = self.enterContext(Fakes()).spawn_one(answers=False)
        with Client(self.path) as client:
            client.send("Get", {"pid": silent})  # before there is a daemon
            self.daemon()
            process = client.recv_message()["parameters"]["process"]
        self.assertEqual((process["state"], process["reason"]), ("unreachable", "timeout"))
