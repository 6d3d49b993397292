# SPDX-License-Identifier: MIT
"""What the target sees of the daemon: one question at a time, of twenty bytes, and nothing else."""

import signal
import socket
import unittest

from answers import READY, SILENT, UNKNOWN_COMMAND, error, question, reply, script
from lib.varlink import Client
from scene import Cast, Fake, Scene, require_kernel


class Harm(unittest.TestCase):
    """One daemon for all."""

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene())

    def check(self, fake: Fake, *questions: bytes) -> None:
        """That it was told these questions, each over the only connection of its moment."""
        for expected in questions:
            self.assertEqual(fake.wait_connection(), 1)
            self.assertEqual(fake.wait_question(), expected)
        self.scene.settle()
        self.assertEqual(fake.told(), [], "more than was to be expected")

    def test_who_answers_is_asked_once(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        self.check(fake, question())

    def test_who_answers_and_does_not_hang_up_is_asked_once(self) -> None:
        fake = self.scene.begin(script(reply()))
        self.scene.wait(fake, "ready")
        self.check(fake, question())

    def test_who_answers_byte_by_byte_is_asked_once(self) -> None:
        fake = self.scene.begin(script("torn", reply()))
        self.scene.wait(fake, "ready")
        self.check(fake, question())

    def test_who_is_ready_is_left_in_peace_whatever_clients_ask(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        self.scene.listed()
        self.scene.client.call("Get", pid=fake.pid)
        late = self.scene.daemon.subscribe()
        late.wait_state(fake.pid, "ready")
        late.close()
        self.scene.daemon.ctl("show", str(fake.pid))
        self.scene.client.call("Check", pid=fake.pid)
        self.check(fake, question())

    def test_who_is_ready_and_maps_again_is_left_in_peace(self) -> None:
        fake = self.scene.begin(READY)
        self.scene.wait(fake, "ready")
        fake.do(*["map"] * 50)
        self.check(fake, question())

    def test_who_maps_again_while_it_is_asked_is_not_asked_twice_at_a_time(self) -> None:
        fake = self.scene.begin(SILENT)
        self.assertEqual(fake.wait_connection(), 1)
        fake.do(*["map"] * 50)
        self.scene.settle()
        self.assertEqual(fake.told(), [])
        self.scene.wait(fake, "unreachable")
        self.assertEqual(fake.wait_question(), question())

    def test_who_knows_no_question_is_asked_each_once(self) -> None:
        fake = self.scene.begin(script(error(UNKNOWN_COMMAND), "close"))
        self.scene.wait(fake, "ready")
        self.check(fake, question(3), question(2), question(1))

    def test_who_hangs_up_is_asked_one_question_a_time_and_ever_less_often(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open("close"))  # one sign, since each is a reason to ask
        begun = self.scene.wait(fake, "unreachable")["detectedBoottimeUSec"]
        for _ in range(2):
            self.assertEqual(fake.wait_connection(), 1)
            self.assertEqual(fake.wait_question(), question())
        fake.do(f"answer {READY}")
        process = self.scene.wait(fake, "ready")
        self.assertGreaterEqual(process["readyBoottimeUSec"] - begun, 2_000_000)
        self.check(fake, question())

    def check_one_at_a_time(self, fake: Fake, count: int) -> None:
        """That it was asked so often, by one after another."""
        for _ in range(count):
            self.assertEqual(fake.wait_connection(), 1)
        for _ in range(count):
            self.assertEqual(fake.wait_question(), question())
        self.assertEqual(fake.told(), [])

    def test_who_is_checked_by_two_clients_is_not_asked_twice_at_a_time(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(SILENT))
        with Client(self.scene.daemon.socket) as one, Client(self.scene.daemon.socket) as other:
            for client in (one, other):
                client.send("Check", {"pid": fake.pid})
            for client in (one, other):
                items = client.recv_message()["parameters"]["items"]
                self.assertIn("within 2000 ms", str(items))
        self.check_one_at_a_time(fake, 2)

    def test_who_maps_while_a_client_checks_it_is_not_asked_twice_at_a_time(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open(SILENT, READY))
        with Client(self.scene.daemon.socket) as client:
            client.send("Check", {"pid": fake.pid})
            while not fake.told():
                pass
            fake.do("map")
            client.recv_message()
        self.scene.wait(fake, "ready")
        self.check_one_at_a_time(fake, 2)


class Silent(unittest.TestCase):
    """Targets that hold on to their question hold up nobody else for longer than it is open."""

    def test_with_every_place_taken_by_silent_ones_others_are_asked_in_turn(self) -> None:
        require_kernel()
        with Scene("--max-probes=2") as scene:
            silent = [scene.begin(SILENT) for _ in range(2)]
            for fake in silent:
                fake.wait_connection()
            waiting = scene.begin(READY)
            scene.wait(waiting, "detected")
            self.assertEqual(waiting.told(), [])
            scene.wait(waiting, "ready")
            for fake in silent:
                self.assertEqual(scene.wait(fake, "unreachable")["reason"], "timeout")


class Stopped(unittest.TestCase):
    """Targets that cannot answer when the daemon begins."""

    def begin_stopped(self, cast: Cast) -> Fake:
        fake = cast.begin(READY)
        fake.kill(signal.SIGSTOP)
        return fake

    def fill_backlog(self, fake: Fake) -> None:
        """Connects as others do who wait for its answer, until there is no room for one more."""
        while True:
            client = self.enterContext(socket.socket(socket.AF_UNIX))
            client.setblocking(False)
            try:
                client.connect(fake.sockets[0])
            except BlockingIOError:
                return

    def test_they_do_not_keep_the_daemon_from_beginning_and_are_told_as_timeouts(self) -> None:
        require_kernel()
        with Cast() as cast:
            stopped, busy, running = (self.begin_stopped(cast), self.begin_stopped(cast),
                                      cast.begin(READY))
            self.fill_backlog(busy)
            with Scene(cast=cast) as scene:  # which waits for READY=1
                scene.wait(running, "ready")
                process = scene.wait(stopped, "unreachable")
                self.assertEqual(process["reason"], "timeout")
                self.assertIn("; the process is stopped", process["detail"])
                process = scene.wait(busy, "unreachable")
                self.assertEqual(process["reason"], "timeout")
                self.assertIn("as many clients wait as it takes (EAGAIN)", process["detail"])
