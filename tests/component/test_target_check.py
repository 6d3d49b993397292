# SPDX-License-Identifier: MIT
"""`check PID`: one process step by step, and what to do where it does not go on."""

import ctypes
import os
import signal
import subprocess
import threading
import time
import unittest
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import answers
from answers import READY, SILENT, script
from lib.varlink import TIMEOUT, Client, VarlinkError
from scene import Cast, Fake, Scene, require_kernel

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
NOBODY = 65534
STEPS = ["process", "signal", "mapping", "socket", "path", "owner", "answer"]

Items = dict[str, dict[str, Any]]


@contextmanager
def debugged(pid: int) -> Iterator[None]:
    """Holds it as a debugger does. A process has one tracer, which is a thread of its own here."""
    libc = ctypes.CDLL(None, use_errno=True)
    held, end = threading.Event(), threading.Event()

    def trace() -> None:
        libc.ptrace(PTRACE_SEIZE, pid, None, None)
        libc.ptrace(PTRACE_INTERRUPT, pid, None, None)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        held.set()
        end.wait()  # a tracer's end lets go of what it traces

    thread = threading.Thread(target=trace)
    thread.start()
    assert held.wait(20), "not stopped within 20 s"
    try:
        yield
    finally:
        end.set()
        thread.join()


class Check(unittest.TestCase):
    """One daemon for a class."""

    options: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene(*cls.options))

    def items(self, fake: Fake | int) -> Items:
        """By name, in order; a step that fails is the last one that is told."""
        pid = fake if isinstance(fake, int) else fake.pid
        items = self.scene.client.call("Check", pid=pid)["items"]
        return {item["name"]: item for item in items}

    def check(self, fake: Fake | int, step: str, *details: str) -> Items:
        """That it fails at this step, which is the last, and says this of it."""
        items = self.items(fake)
        self.assertEqual(list(items)[-1], step, items)
        self.assertFalse(items[step]["ok"], items)
        for detail in details:
            self.assertIn(detail, items[step]["detail"])
        return items


class NotAskable(Check):
    """What is no living process is told so, and goes no further."""

    def test_a_pid_that_is_not_there(self) -> None:
        with self.assertRaises(VarlinkError) as raised:
            self.items(4_000_000)
        self.assertIn("NoSuchProcess", str(raised.exception))

    def test_a_thread(self) -> None:
        end = threading.Event()
        thread = threading.Thread(target=end.wait)
        thread.start()
        self.check(thread.native_id, "process", f"is a thread of process {os.getpid()}: check that")
        end.set()
        thread.join()

    def test_a_zombie(self) -> None:
        with subprocess.Popen(["true"]) as child:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            self.check(child.pid, "process", "true: its main thread has ended (a zombie)")

    def test_a_program_that_is_not_dotnet(self) -> None:
        fake = self.scene.start()
        items = self.check(fake, "socket", "it listens on no Unix socket; it maps nothing of a "
                                           "runtime: it is not .NET")
        self.assertEqual(list(items), ["process", "signal", "mapping", "socket"])
        self.assertEqual([item["ok"] for item in items.values()], [True, False, False, False])


class Step(Check):
    """Each step at which a process can be left behind."""

    def test_a_process_that_answered(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        items = self.items(fake)
        self.assertEqual(list(items), STEPS)
        self.assertTrue(all(item["ok"] for item in items.values()), items)
        self.assertEqual(items["socket"]["detail"], fake.sockets[0])
        self.assertEqual(items["path"]["detail"], f"/proc/{fake.pid}/root{fake.sockets[0]}")

    def test_one_in_namespaces_of_its_own(self) -> None:
        fake = self.scene.start("--pid-namespace")
        fake.do("tmpfs /tmp")
        fake.begin(READY, path="/tmp/dotnet-diagnostic-1-1-socket")
        self.scene.wait(fake, "ready")
        items = self.items(fake)
        self.assertIn("pid 1 in its own pid namespace", items["process"]["detail"])
        self.assertEqual(items["path"]["detail"],
                         f"/proc/{fake.pid}/root/tmp/dotnet-diagnostic-1-1-socket")

    def test_the_name_of_its_socket_is_taken(self) -> None:
        fake = self.scene.start()
        taken = Path(f"/tmp/dotnet-diagnostic-{fake.own_pid}-{fake.key}-socket")
        taken.touch()
        self.addCleanup(taken.unlink)
        self.check(fake, "socket", f"the name of its default socket is taken: {taken}.")

    def test_a_child_that_inherited_the_mapping_alone(self) -> None:
        fake = self.scene.start()
        fake.do("map")
        self.check(int(fake.do("fork")[0]), "socket", "the mapping came with a fork")

    def test_a_child_that_inherited_the_socket_too(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        self.check(int(fake.do("fork")[0]), "owner", f"is served by pid {fake.pid}", "TMPDIR")

    def test_a_child_that_listens_at_the_inherited_socket(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        child = int(fake.do("fork listen")[0])
        self.scene.subscription.wait_state(child, "unreachable")  # it has listened
        self.check(child, "owner", f"answers as process {fake.pid}, not {child}")


class Unseen(Check):
    """The same of processes that no signal named: they began while the kernel told of none."""

    options = ("--without=mapping", "--without=listen")

    def test_its_socket_was_deleted(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(READY))
        Path(fake.sockets[0]).unlink()
        self.check(fake, "path", f"{fake.sockets[0]}: was deleted", "start the process again")

    def test_its_socket_became_another_users(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(READY))
        os.chown(fake.sockets[0], NOBODY, NOBODY)
        self.check(fake, "owner", f"belongs to uid {NOBODY}")

    def test_what_listens_speaks_another_protocol(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(script(b"HTTP/1.1 400 Bad Request\r\n\r\n", "close")))
        self.check(fake, "answer", "no DOTNET_IPC_V1 in front", "no diagnostic port")

    def test_what_listens_hangs_up(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open("close"))
        self.check(fake, "connection", "closed the connection without an answer")

    def test_it_is_silent(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(SILENT))
        self.check(fake, "answer", "no whole answer to ProcessInfo3", "ss -xp")

    def test_it_is_stopped(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(READY))
        fake.kill(signal.SIGSTOP)
        os.waitid(os.P_PID, fake.pid, os.WSTOPPED | os.WNOWAIT)
        items = self.check(fake, "answer", "; the process is stopped")
        self.assertFalse(items["process"]["ok"])
        self.assertIn("run state T: stopped", items["process"]["detail"])

    def test_a_debugger_holds_it(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(READY))
        with debugged(fake.pid):
            items = self.check(fake, "answer", "; the process is stopped by a debugger")
            self.assertFalse(items["process"]["ok"])
            self.assertIn("run state t: stopped by a debugger", items["process"]["detail"])


class AskedAgain(Check):
    """What a check learns the daemon knows: no event tells of it, and retries end."""

    def wait_answered(self, fake: Fake) -> None:
        """Checks it until it answers: within a second of an attempt it is told what is known."""
        deadline = time.monotonic() + TIMEOUT
        while not (items := self.items(fake)).get("answer", {}).get("ok"):
            self.assertLess(time.monotonic(), deadline, items)
        self.scene.wait(fake, "ready")

    def test_one_that_went_on_is_ready(self) -> None:
        fake = self.scene.start()
        fake.send(*fake.open(READY), "map", "stop")
        self.assertEqual(self.scene.wait(fake, "unreachable")["reason"], "timeout")
        fake.kill(signal.SIGCONT)
        self.wait_answered(fake)
        self.assertEqual(self.scene.states(fake), ["detected", "unreachable", "ready"])

    def test_one_that_is_being_asked_is_waited_for(self) -> None:
        fake = self.scene.begin(SILENT)
        fake.wait_connection()
        self.check(fake, "answer", "no whole answer")
        self.assertEqual(self.scene.wait(fake, "unreachable")["reason"], "timeout")

    def test_one_that_ends_while_it_is_asked(self) -> None:
        fake = self.scene.begin(SILENT)
        fake.wait_connection()
        with Client(self.scene.daemon.socket) as client:
            client.send("Check", {"pid": fake.pid})
            self.scene.listed()
            fake.kill()
            item = client.recv_message()["parameters"]["items"][-1]
        self.assertEqual(item, {"name": "process", "ok": False, "detail": "it ended meanwhile"})

    def test_a_client_that_goes_leaves_the_attempt_to_others(self) -> None:
        fake = self.scene.begin(SILENT)
        fake.wait_connection()
        with Client(self.scene.daemon.socket) as client:
            client.send("Check", {"pid": fake.pid})
            self.scene.listed()
        self.assertEqual(self.scene.wait(fake, "unreachable")["reason"], "timeout")


class HeldFromTheStart(unittest.TestCase):
    """A debugger holds a process when the daemon starts."""

    def test_it_is_a_timeout_that_says_so_and_ready_once_it_is_let_go_of(self) -> None:
        require_kernel()
        with Cast() as cast:
            fake = cast.begin(READY)
            with ExitStack() as debugger:
                debugger.enter_context(debugged(fake.pid))
                with Scene(cast=cast) as scene:
                    process = scene.wait(fake, "unreachable")
                    self.assertEqual(process["reason"], "timeout")
                    self.assertIn("; the process is stopped by a debugger", process["detail"])
                    debugger.close()
                    scene.wait(fake, "ready")


class WithoutEvents(Check):
    """Where the kernel tells of no start, a process is found when somebody asks for it."""

    options = ("--without=mapping", "--without=listen")

    def test_one_that_answers_is_listed_from_then_on(self) -> None:
        fake = self.scene.begin(READY)
        items = self.items(fake)
        self.assertFalse(items["signal"]["ok"])
        self.assertIn("not listed; it will be", items["signal"]["detail"])
        self.assertEqual(items["answer"]["detail"],
                         f"runtime {answers.SECOND['runtimeVersion']}")
        self.assertEqual(self.scene.wait(fake, "ready")["signal"], "scan")

    def test_a_socket_of_another_name_is_not_asked(self) -> None:
        """What a program that is not .NET listens at is nobody's to wake."""
        fake = self.scene.start()
        fake.do(*fake.open(READY, path=fake.path("app.sock")))
        self.check(fake, "socket", "none of which has the name of a diagnostic one")
        self.assertEqual(fake.told(), [])
        self.assertEqual(self.scene.listed(pid=fake.pid), {})

    def test_one_that_does_not_answer_is_not(self) -> None:
        fake = self.scene.begin("close")
        self.check(fake, "connection", "closed the connection")
        self.assertEqual(self.scene.listed(pid=fake.pid), {})


if __name__ == "__main__":
    unittest.main()
