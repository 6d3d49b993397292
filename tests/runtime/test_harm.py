# SPDX-License-Identifier: MIT
"""All that a real runtime sees of the daemon, as strace shows it: one connection, one question of
20 bytes, one answer, the end.
"""

import os
import re
import tempfile
import unittest
from pathlib import Path
from typing import NamedTuple

from lib.child import readable
from lib.daemon import Daemon
from lib.require import require_bpf, require_tool
from lib.varlink import TIMEOUT
from programs import Sample, program, run

# As strace writes a request's header: behind the magic its size, command set and command.
PROCESS_INFO_3 = r"\24\0\4\10\0\0"
RESUME = r"\24\0\4\1\0\0"
ACCEPTED = re.compile(r"accept4?\(.* = \d+<UNIX-STREAM:\[(\d+)->(\d+)")
CONNECTED = re.compile(r"connect\(\d+<UNIX-STREAM:\[(\d+)\S* .* = 0$")
CALL = re.compile(r"(\w+)\(\d+<UNIX-STREAM:\[(\d+)->.* = (-?\d+)$")
REQUEST = re.compile(r'"DOTNET_IPC_V1\\0([^"]*)"')
# LeakSanitizer is a tracer too, of which a process has one.
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}


class Call(NamedTuple):
    """One system call on a connection to the diagnostic port."""

    name: str
    result: int
    text: str


class Connection(NamedTuple):
    """One that was accepted, from the socket with this inode."""

    peer: int
    calls: list[Call]

    @property
    def request(self) -> str:
        """What came over it, as strace writes it, without the magic."""
        return REQUEST.search(self.calls[0].text)[1]


class Strace:
    """What a program calls, written down by a strace that stands aside (-D), so that the program is
    the test's child as ever.
    """

    def __init__(self, case: unittest.TestCase):
        folder = Path(case.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        self._log = folder / "log"
        # Held open by strace and all that it traces: its end is theirs.
        held = folder / "held"
        os.mkfifo(held)
        self._end = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
        case.addCleanup(os.close, self._end)
        self.wrapper = ["sh", "-c", 'exec 9>"$0" && exec "$@"', str(held), require_tool("strace"),
                        "-D", "-f", "-yy", "-s", "64", "-e", "signal=none",
                        "-e", "trace=network,read,write,readv,writev,close", "-o", str(self._log)]

    def lines(self) -> list[str]:
        """Of a program that was ended: each call, in the order in which they ended."""
        assert readable([self._end], TIMEOUT), f"strace still runs after {TIMEOUT} s"
        begun: dict[str, str] = {}
        whole = []
        for line in self._log.read_text().splitlines():
            thread, text = line.split(maxsplit=1)
            if text.endswith("<unfinished ...>"):
                begun[thread] = text.removesuffix("<unfinished ...>")
                continue
            if text.startswith("<... "):
                text = begun.pop(thread) + text.split(" resumed>", 1)[1]
            whole.append(text)
        return whole

    def accepted(self) -> list[Connection]:
        """The connections to the diagnostic port, in the order in which they were accepted."""
        connections: dict[str, Connection] = {}
        for text in self.lines():
            if found := ACCEPTED.match(text):
                connections[found[1]] = Connection(int(found[2]), [])
            elif (found := CALL.match(text)) and found[2] in connections:
                connections[found[2]].calls.append(Call(found[1], int(found[3]), text))
        return list(connections.values())

    def connected(self) -> set[int]:
        """The inodes of the sockets that connected to somebody."""
        return {int(found[1]) for found in map(CONNECTED.match, self.lines()) if found}


class Harm:
    """Each runtime, started after the daemon and before it.

    Another daemon may run on the machine: what counts is the connections of the test's own.
    """

    sample: str

    def setUp(self) -> None:
        require_bpf()
        self.target, self.prober = Strace(self), Strace(self)

    def start(self, **env: str) -> Sample:
        return self.enterContext(Sample(self.sample, self.target.wrapper, **env))

    def daemon(self) -> Daemon:
        return Daemon(wrapper=self.prober.wrapper, env=NO_LEAKS)

    def check_asked_once(self) -> None:
        """Once both have ended: one connection, with one question of 20 bytes, which was read at
        once; one answer; closed by the runtime.
        """
        own = self.prober.connected()
        asked, = (connection for connection in self.target.accepted() if connection.peer in own)
        self.assertEqual([call.name for call in asked.calls], ["recvfrom", "sendto", "close"])
        received, sent, _ = asked.calls
        self.assertEqual(received.result, 20, received)
        self.assertEqual(asked.request, PROCESS_INFO_3)
        self.assertGreater(sent.result, 20, sent)

    def test_found_starting_it_is_asked_once_and_left_in_peace(self) -> None:
        with self.daemon() as daemon:
            sample = self.start()
            daemon.subscribe().wait_state(sample.pid, "ready")
            sample.wait_main()
            self.use(daemon, sample)
        self.check_asked_once()

    def test_found_running_it_is_asked_once_and_left_in_peace(self) -> None:
        sample = self.start()
        sample.wait_main()
        with self.daemon() as daemon:
            daemon.subscribe().wait_state(sample.pid, "ready")
            self.use(daemon, sample)
        self.check_asked_once()

    def use(self, daemon: Daemon, sample: Sample) -> None:
        """All that clients can ask about it, and its end."""
        late = daemon.subscribe()
        late.wait_state(sample.pid, "ready")
        daemon.call("List")
        daemon.call("Get", pid=sample.pid)
        items = daemon.call("Check", pid=sample.pid)["items"]
        self.assertTrue(all(item["ok"] for item in items), items)
        self.assertEqual(daemon.ctl("check", str(sample.pid)).returncode, 0)
        self.assertEqual(sample.finish(), 0)

    def test_a_suspended_start_sees_the_daemon_once_and_is_resumed_by_its_own_tool(self) -> None:
        program("client")
        with self.daemon() as daemon:
            sample = self.start(DOTNET_DefaultDiagnosticPortSuspend="1")
            daemon.subscribe().wait_state(sample.pid, "ready")
            self.assertFalse(sample.has_run_main(), "Main ran before it was resumed")
            run("client", "resume", sample.pid)
            sample.wait_main()
            self.assertEqual(sample.finish(), 0)
        self.check_asked_once()
        self.assertEqual([connection.request for connection in self.target.accepted()
                          if connection.request != PROCESS_INFO_3], [RESUME])


class Tools(Harm):
    """Tools that attach as the program starts: the daemon takes one exchange, before or after
    theirs, so nobody waits for more than that.
    """

    def check_attached(self, tool: str, *arguments: str | int) -> None:
        """That the tool asks what it asks, and the daemon once."""
        program(tool)
        path = self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")) + "/out"
        with self.daemon() as daemon:
            sample = self.start()
            subscription = daemon.subscribe()
            subscription.wait_state(sample.pid, "detected")
            run(tool, "collect", "-p", sample.pid, *arguments, "-o", path)
            subscription.wait_state(sample.pid, "ready")
            self.assertEqual(sample.finish(), 0)
        self.check_asked_once()

    def test_dotnet_trace_attaches_while_the_daemon_asks(self) -> None:
        self.check_attached("dotnet-trace", "--duration", "00:00:00:01")

    def test_dotnet_counters_attaches_while_the_daemon_asks(self) -> None:
        self.check_attached("dotnet-counters", "--duration", "00:00:00:03", "--format", "json",
                            "--refresh-interval", "1")


class SelfContained8(Harm, unittest.TestCase):
    sample = "self-contained-8"


class SelfContained11(Tools, unittest.TestCase):
    sample = "self-contained-11"


class NativeAot(Tools, unittest.TestCase):
    sample = "native-aot"


if __name__ == "__main__":
    unittest.main()
