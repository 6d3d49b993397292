# SPDX-License-Identifier: MIT
"""dotnet-discoveryctl: what it prints as JSON is what the daemon answered, and how it ends."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from lib.child import Child
from lib.client_test import ClientTest
from lib.daemon import DISCOVERYCTL, ctl
from lib.require import require_bpf, require_root
from lib.users import GROUP, NOBODY
from lib.varlink import TIMEOUT

GONE = "5000000"  # no pid
STARTING = "Start 'dotnet-discoveryd' as root"


class CtlTest(ClientTest):

    def setUp(self) -> None:
        require_bpf()
        super().setUp()

    def json(self, *arguments: str, status: int = 0) -> list[Any]:
        """The values that it prints, a line for each."""
        result = self.daemon.ctl(*arguments, "--json=short")
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return [json.loads(line) for line in result.stdout.splitlines()]

    def start(self, *arguments: str) -> Child:
        """It, running."""
        return self.enterContext(
            Child([DISCOVERYCTL, f"--socket={self.daemon.socket}", *arguments]))

    def wait_subscribed(self, count: int) -> None:
        """Until the daemon has so many subscribers."""
        while self.counter("subscribers") != count:
            pass


class Json(CtlTest):

    def test_list(self) -> None:
        fakes = self.fakes()
        pids = fakes.spawn(20)
        for pid in pids:
            self.watcher.wait_state(pid, "ready")
        name = f"entryAssembly={fakes.assembly}"
        wanted = sorted(self.watcher.alive(*pids).values(), key=lambda process: process["pid"])
        printed, = self.json("list", name)
        self.assertEqual(printed.keys(), {"processes", "sequence"})
        self.assertEqual(printed["processes"], wanted)
        printed, = self.json("list", name, "uid=root")
        self.assertEqual(printed["processes"], wanted)
        pretty = self.daemon.ctl("list", name, "--json=pretty").stdout
        self.assertEqual(json.loads(pretty)["processes"], wanted)
        printed, = self.json("list", name, "state=gone")
        self.assertEqual(printed["processes"], [])

    def test_show(self) -> None:
        pids = self.fakes().spawn(2)
        processes = [self.watcher.wait_state(pid, "ready") for pid in pids]
        self.assertEqual(self.json("show", *map(str, pids)), processes)

    def test_status(self) -> None:
        printed, = self.json("status")
        answered = self.bystander.call("Status")
        for name in ("counters", "processes", "sequence"):  # which the asking itself changes
            self.assertEqual(type(printed.pop(name)), type(answered.pop(name)))
        self.assertEqual(printed, answered)

    def test_check(self) -> None:
        pid = self.fakes().spawn_one()
        self.watcher.wait_state(pid, "ready")
        self.assertEqual(self.json("check", str(pid)), [self.bystander.call("Check", pid=pid)])
        machine = self.bystander.call("Check")
        status = 0 if all(item["ok"] for item in machine["items"]) else 1
        self.assertEqual(self.json("check", status=status), [machine])

    def test_monitor(self) -> None:
        fakes = self.fakes()
        fields = {"entryAssembly": fakes.assembly}
        monitor = self.start("monitor", f"entryAssembly={fakes.assembly}", "--json=short")
        self.wait_subscribed(2)
        stream = self.client().stream("Subscribe", filter=fields)
        told = [next(stream) for _ in range(2)]
        pid = fakes.spawn_one()
        told.append(next(stream))
        fakes.end(pid)
        told.append(next(stream))
        printed = [json.loads(monitor.read_line()) for _ in told]
        for reply in (*printed[:2], *told[:2]):  # others' processes change between two snapshots
            del reply["sequence"]
        self.assertEqual(printed, told)
        self.assertEqual([reply["kind"] for reply in told],
                         ["snapshot", "synced", "changed", "changed"])

    def test_monitor_ends_with_its_reader(self) -> None:
        monitor = self.start("monitor", f"pid={GONE}", "--json=short")
        self.assertEqual([json.loads(monitor.read_line())["kind"] for _ in range(2)],
                         ["snapshot", "synced"])
        monitor.process.stdout.close()
        self.assertEqual(monitor.wait(), 0)

    def test_wait(self) -> None:
        fakes = self.fakes()
        wait = self.start("wait", f"entryAssembly={fakes.assembly}", "--json=short")
        self.wait_subscribed(2)
        pid = fakes.spawn_one()
        self.assertEqual(json.loads(wait.read_line()), self.watcher.wait_state(pid, "ready"))
        self.assertEqual(wait.wait(), 0)


class Status(CtlTest):

    def test_counters_of_what_happened_and_all_of_them(self) -> None:
        counters = {counter["name"]: counter["value"]
                    for counter in self.bystander.call("Status")["counters"]}
        shown = self.daemon.ctl("status").stdout
        self.assertNotIn(" 0 ", shown)
        self.assertIn(" subscribers\n", shown)
        self.assertEqual(shown.splitlines()[1].split(), ["Degraded:", "no"])
        shown = self.daemon.ctl("status", "--all").stdout
        for name in counters:
            self.assertIn(f" {name}\n", shown)


class Waiting(CtlTest):

    def test_it_prints_the_pid_of_the_first_that_is_ready(self) -> None:
        fakes = self.fakes()
        wait = self.start("wait", f"uid={os.geteuid()}", "command=awaited")
        self.wait_subscribed(2)
        pid = fakes.spawn_one(command="awaited", answers=False)
        fakes.spawn_one(command="other")
        self.watcher.wait_state(pid, "detected")
        self.assertFalse(wait.has_output())
        fakes.release(pid)
        self.assertEqual(wait.read_line(), str(pid))
        self.assertEqual(wait.wait(), 0)

    def test_one_that_is_ready_already_will_do(self) -> None:
        fakes = self.fakes()
        pid = fakes.spawn_one()
        self.watcher.wait_state(pid, "ready")
        result = self.daemon.ctl("wait", f"pid={pid}")
        self.assertEqual((result.returncode, result.stdout), (0, f"{pid}\n"))

    def test_another_state_may_be_waited_for(self) -> None:
        fakes = self.fakes()
        pid = fakes.spawn_one()
        self.watcher.wait_state(pid, "ready")
        wait = self.start("wait", f"pid={pid}", "state=gone")
        self.wait_subscribed(2)
        fakes.end(pid)
        self.assertEqual((wait.read_line(), wait.wait()), (str(pid), 0))

    def test_it_gives_up_in_time(self) -> None:
        result = self.daemon.ctl("wait", f"pid={GONE}", "--timeout=50ms")
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertIn("No .NET process matched in time", result.stderr)


class Endings(CtlTest):

    def assert_ends(self, status: int, *arguments: str, says: str) -> None:
        """It prints nothing and says this on standard error."""
        result = self.daemon.ctl(*arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
        self.assertIn(says, result.stderr)

    def test_done_also_where_nothing_matches(self) -> None:
        for arguments in (["list", f"pid={GONE}"], [], ["--help"], ["--version"]):
            result = self.daemon.ctl(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertTrue(result.stdout)

    def test_a_check_that_is_not_all_well_has_failed(self) -> None:
        result = self.daemon.ctl("check", str(os.getpid()))
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertIn("mapping", result.stdout)

    def test_what_is_no_command_line(self) -> None:
        for arguments in (["nonsense"], ["list", "pid"], ["list", "pid=0"], ["list", "nothing=1"],
                          ["list", "pid=1", "pid=2"], ["list", "uid=no-such-user"],
                          ["list", "command="], ["show"], ["show", "x"], ["show", "-1"], ["wait"],
                          ["status", "x"], ["check", "x"], ["check", "1", "2"], ["--nonsense"],
                          ["list", "--json=yes"], ["list", "--timeout=1"], ["--socket="],
                          ["list", "--all"], ["wait", "pid=1", "--timeout=soon"]):
            with self.subTest(arguments):
                self.assert_ends(2, *arguments, says="")

    def test_a_value_that_only_the_daemon_knows_to_be_wrong(self) -> None:
        for command in ("list", "monitor", "wait"):
            self.assert_ends(2, command, "state=dead", says="state")

    def test_show_tells_what_it_found_and_what_not(self) -> None:
        self.assert_ends(3, "show", GONE, says=f"Process {GONE} is not known")
        pid = self.fakes().spawn_one()
        process = self.watcher.wait_state(pid, "ready")
        result = self.daemon.ctl("show", GONE, str(pid), "--json=short")
        self.assertEqual((result.returncode, json.loads(result.stdout)), (3, process))
        self.assertIn(GONE, result.stderr)

    def test_another_users_process_is_not_known_and_who_might_know_it(self) -> None:
        require_root()
        pid = self.fakes().spawn_one()
        self.watcher.wait_state(pid, "ready")
        program = Path(self.daemon.folder) / "ctl"  # where that user can execute it
        shutil.copy(DISCOVERYCTL, program)
        for command in ("show", "check"):
            result = subprocess.run([program, f"--socket={self.daemon.socket}", command, str(pid)],
                                    user=NOBODY, group=NOBODY, extra_groups=[], text=True,
                                    capture_output=True, check=False)
            self.assertEqual((result.returncode, result.stdout), (3, ""))
            self.assertIn(f"Process {pid} is not known", result.stderr)
            self.assertIn("root", result.stderr)
            self.assertIn(f"group {GROUP}", result.stderr)

    def test_output_that_cannot_be_written(self) -> None:
        pid = self.fakes().spawn_one()
        self.watcher.wait_state(pid, "ready")
        for arguments in (["list"], ["list", "--json=short"], ["show", str(pid)], ["monitor"],
                          ["monitor", "--json=short"], ["wait", f"pid={pid}"], ["status"],
                          ["check"], ["--help"], ["--version"]):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                result = subprocess.run(
                    [DISCOVERYCTL, f"--socket={self.daemon.socket}", *arguments], stdout=full,
                    stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False)
                self.assertEqual(result.returncode, 1)
                self.assertIn("Failed to write the output: No space left on device.",
                              result.stderr)

    def test_output_that_nobody_reads(self) -> None:
        """Ends it without a word, whether it dies of it or not."""
        for arguments in (["list"], ["status"], ["monitor"], ["--help"]):
            for ignores in (False, True):
                with self.subTest(arguments, ignores=ignores):
                    reading, writing = os.pipe()
                    os.close(reading)
                    with open(writing, "w") as unread:
                        result = subprocess.run(
                            [DISCOVERYCTL, f"--socket={self.daemon.socket}", *arguments],
                            stdout=unread, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                            restore_signals=not ignores, check=False)
                    self.assertIn(result.returncode,
                                  (0,) if ignores or arguments == ["monitor"] else (-13,))
                    self.assertEqual(result.stderr, "")

    def test_something_else_listens(self) -> None:
        path = str(self.daemon.folder / "other")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            for answer in (b"nonsense\0", b'{"parameters":{}}\0', b"\0", b"", b"[" * 100000):
                with (self.subTest(answer), Child([DISCOVERYCTL, f"--socket={path}", "status"],
                                                  stderr=subprocess.PIPE) as child):
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(4096)
                        connection.sendall(answer)
                    self.assertEqual(child.wait(), 1)
                    self.assertTrue(child.process.stderr.read())


class NotRunning(unittest.TestCase):

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))

    def test_it_says_so_and_how_to_start_one(self) -> None:
        refusing = self.folder / "refusing"
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(refusing))
        for path in (self.folder / "missing", refusing):
            for arguments in (["list"], ["show", "1"], ["monitor"], ["wait", "pid=1"], ["status"]):
                with self.subTest(arguments, path=path):
                    result = ctl(f"--socket={path}", *arguments)
                    self.assertEqual((result.returncode, result.stdout), (69, ""))
                    self.assertIn(str(path), result.stderr)
                    self.assertIn(STARTING, result.stderr)

    def test_where_a_service_manager_could_start_it(self) -> None:
        """In a /run of its own; only the usual socket is that of the unit."""
        require_root()
        script = """set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
touch /run/systemd/system/dotnet-discoveryd.socket
"$0" "$@" || echo "status $?"
"""
        for socket_option, says in (([], "systemctl start dotnet-discoveryd.socket"),
                                    (["--socket=/run/other"], STARTING)):
            result = subprocess.run(["unshare", "--mount", "sh", "-c", script, DISCOVERYCTL, "list",
                                     *socket_option], capture_output=True, text=True,
                                    timeout=TIMEOUT, check=False)
            self.assertEqual(result.stdout, "status 69\n", result.stderr)
            self.assertIn(says, result.stderr)

    def test_check_needs_none(self) -> None:
        result = ctl(f"--socket={self.folder}/missing", "check", "--json=short")
        items = json.loads(result.stdout)["items"]
        self.assertIn("kernel", {item["name"] for item in items})
        self.assertEqual(result.returncode, 0 if all(item["ok"] for item in items) else 1)
        result = ctl(f"--socket={self.folder}/missing", "check", str(os.getpid()), "--json=short")
        names = {item["name"]: item["ok"] for item in json.loads(result.stdout)["items"]}
        self.assertEqual((result.returncode, names["process"], names["mapping"]), (1, True, False))
