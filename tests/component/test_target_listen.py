# SPDX-License-Identifier: MIT
"""A target that the kernel tells of by its listening socket: what every runtime does, and all that
those do which make no mapping."""

import unittest

from answers import READY, SILENT, TOLD, question, script
from lib.subscription import Process
from scene import Fake, Scene, require_kernel

USER = 64001


class Listen(unittest.TestCase):
    """One daemon for all."""

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene())

    def listen(self, *answers: str, user: int = 0) -> Fake:
        """A target that does all that a starting runtime does but for the mapping."""
        fake = self.scene.start()
        fake.do(f"user {user}", *fake.open(*answers))
        return fake

    def processes(self, fake: Fake) -> list[Process]:
        """All that was told of it."""
        return [event.process for event in self.scene.subscription.of(fake.pid)]

    def test_without_a_mapping_it_is_ready(self) -> None:
        fake = self.listen(READY)
        process = self.scene.wait(fake, "ready")
        self.assertEqual((process["signal"], process["socketPath"]), ("listen", fake.sockets[0]))
        self.assertNotIn("mappingProtection", process)
        self.assertEqual(self.scene.states(fake), ["detected", "ready"])
        self.assertEqual(fake.wait_question(), question())

    def test_of_another_user_without_a_mapping_it_is_ready(self) -> None:
        process = self.scene.wait(self.listen(READY, user=USER), "ready")
        self.assertEqual((process["signal"], process["uid"]), ("listen", USER))

    def test_a_mapping_before_the_answer_is_told_with_it(self) -> None:
        fake = self.scene.begin(SILENT)
        self.scene.wait(fake, "unreachable")
        self.assertEqual([(process["state"], process["signal"], process.get("mappingProtection"))
                          for process in self.processes(fake)],
                         [("detected", "listen", None), ("unreachable", "listen", "---p")])

    def test_a_mapping_after_the_answer_is_a_change_of_the_same_process(self) -> None:
        fake = self.listen(READY)
        first = self.scene.wait(fake, "ready")
        fake.do("map r")
        event = self.scene.subscription.wait_for(
            lambda event: event.about(fake.pid, "ready") and event.previous == "ready")
        self.assertEqual(event.process, first | {"mappingProtection": "r--p",
                                                 "sequence": event.process["sequence"]})
        self.assertEqual(len(self.processes(fake)), 3)

    def test_listening_again_and_again_it_is_left_in_peace(self) -> None:
        fake = self.listen(READY)
        self.scene.wait(fake, "ready")
        fake.wait_question()
        fake.wait_connection()
        fake.do(*["listen"] * 50)
        self.scene.settle()
        self.assertEqual(fake.told(), [])
        self.assertEqual(len(self.processes(fake)), 2)

    def test_one_that_is_no_runtime_is_unreachable(self) -> None:
        fakes = {"timeout": self.listen(SILENT),
                 "protocol_error": self.listen(script(b"HTTP/1.1 400 Bad Request\r\n\r\n"))}
        for reason, fake in fakes.items():
            self.assertEqual(self.scene.wait(fake, "unreachable")["reason"], reason)

    def test_one_that_closes_its_port_at_once_is_unreachable(self) -> None:
        fake = self.scene.start()
        fake.do(*fake.open("close"), "close")
        self.assertEqual(self.scene.wait(fake, "unreachable")["reason"], "refused")

    def test_a_child_that_listens_at_an_inherited_socket_has_not_the_parents_answer(self) -> None:
        fake = self.listen(READY)
        self.scene.wait(fake, "ready")
        child = int(fake.do("fork listen")[0])
        process = self.scene.wait(child, "unreachable")
        self.assertEqual((process["signal"], process["reason"]), ("listen", "not_owner"))
        self.assertEqual(process["detail"],
                         f"{fake.sockets[0]}: answers as process {fake.pid}, not {child} "
                         "(pids as the process sees them)")
        self.assertEqual([name for name in TOLD if name in process], [])
        self.scene.settle()
        self.assertEqual(self.scene.states(fake), ["detected", "ready"])

    def test_executing_another_program_it_is_gone(self) -> None:
        fake = self.listen(READY)
        self.scene.wait(fake, "ready")
        fake.send("exec /bin/cat")
        self.scene.wait(fake, "gone")
        self.assertEqual(self.scene.states(fake), ["detected", "ready", "gone"])
