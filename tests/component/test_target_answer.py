# SPDX-License-Identifier: MIT
"""What comes back over the connection: right answers, wrong ones, and none."""

import unittest

import answers
from answers import READY, SILENT, TOLD, UNKNOWN_COMMAND, error, message, question, reply, script
from scene import Fake, Scene, require_kernel


class Answer(unittest.TestCase):
    """All of one class share a daemon, which has to survive all of them."""

    @classmethod
    def setUpClass(cls) -> None:
        require_kernel()
        cls.scene = cls.enterClassContext(Scene())

    def told(self, fake: Fake) -> dict[str, str]:
        """What was learned from the answer."""
        process = self.scene.wait(fake, "ready")
        return {name: process[name] for name in TOLD if name in process}


class Right(Answer):
    """Whatever a diagnostic server may answer makes the process ready."""

    def test_a_whole_reply_is_ready_with_all_its_fields(self) -> None:
        fake = self.scene.begin(READY)
        self.assertEqual(self.told(fake), TOLD)
        self.assertEqual(self.scene.wait(fake, "ready")["runtimeCookie"], str(answers.COOKIE))

    def test_a_reply_torn_at_every_byte_is_ready_with_all_its_fields(self) -> None:
        self.assertEqual(self.told(self.scene.begin(script("torn", reply(), "close"))), TOLD)

    def test_a_reply_whose_connection_stays_open_is_ready_at_once(self) -> None:
        fake = self.scene.begin(script(reply()))
        self.assertEqual(self.told(fake), TOLD)
        self.assertEqual(fake.wait_question(), question(3), "closed by the daemon")

    def test_a_reply_with_bytes_of_a_later_version_behind_its_fields_is_ready(self) -> None:
        longer = message(answers.OK, reply()[20:] + b"more" * 10)
        self.assertEqual(self.told(self.scene.begin(script(longer, "close"))), TOLD)

    def test_bytes_behind_the_reply_are_ignored(self) -> None:
        self.assertEqual(self.told(self.scene.begin(script(reply() + bytes(9999), "close"))), TOLD)

    def test_a_reply_as_large_as_can_be_is_ready(self) -> None:
        filler = 65535 - len(reply(commandLine=""))
        large = reply(commandLine="x" * (filler // 2))
        self.assertGreater(len(large), 65533)
        self.assertEqual(self.told(self.scene.begin(script(large, "close"))), TOLD)

    def test_a_runtime_that_knows_the_second_question_is_ready_without_the_third_ones_field(
            self) -> None:
        unknown = script(error(UNKNOWN_COMMAND), "close")
        fake = self.scene.begin(unknown, script(reply(2), "close"))
        self.assertEqual(self.told(fake), answers.FIRST | answers.SECOND)

    def test_a_runtime_that_knows_the_first_question_is_ready_without_a_version(self) -> None:
        unknown = script(error(UNKNOWN_COMMAND), "close")
        fake = self.scene.begin(unknown, unknown, script(reply(1), "close"))
        self.assertEqual(self.told(fake), answers.FIRST)

    def test_a_runtime_that_knows_none_is_ready_with_all_unknown(self) -> None:
        fake = self.scene.begin(script(error(UNKNOWN_COMMAND), "close"))
        self.assertEqual(self.told(fake), {})
        self.assertNotIn("runtimeCookie", self.scene.wait(fake, "ready"))
        self.assertEqual([fake.wait_question() for _ in range(3)],
                         [question(3), question(2), question(1)])

    def test_an_error_header_of_another_code_is_proof_enough(self) -> None:
        fake = self.scene.begin(script(error(answers.FAIL), "close"))
        self.assertEqual(self.told(fake), {})
        self.assertEqual(fake.wait_question(), question(3))

    def test_what_it_says_of_itself_is_published_escaped(self) -> None:
        text = "\x1b[31m\\ \ud800 \N{RIGHT-TO-LEFT OVERRIDE}"
        fake = self.scene.begin(script(reply(entryAssembly=text), "close"))
        self.assertEqual(self.told(fake)["entryAssembly"],
                         r"\x1b[31m\\ \xed\xa0\x80 \xe2\x80\xae")


class Wrong(Answer):
    """What no diagnostic server sends is a protocol error at once, and never more than that."""

    def check(self, detail: str, *steps: bytes | str) -> None:
        process = self.scene.wait(self.scene.begin(script(*steps)), "unreachable")
        self.assertEqual(process["reason"], "protocol_error")
        self.assertIn(detail, process["detail"])
        self.assertNotIn("runtimeVersion", process)

    def test_wrong_magic(self) -> None:
        self.check("no DOTNET_IPC_V1 in front", b"HTTP/1.1 400 Bad Request\r\n\r\n", "close")

    def test_magic_of_another_version(self) -> None:
        self.check("no DOTNET_IPC_V1 in front", reply().replace(b"V1\0", b"V2\0"), "close")

    def test_a_size_below_that_of_a_header(self) -> None:
        self.check("a size smaller than the header", message(0, size=19), "close")

    def test_a_size_of_nothing(self) -> None:
        self.check("a size smaller than the header", message(0, size=0), "close")

    def test_a_size_beyond_what_comes(self) -> None:
        self.check("closed the connection after", message(0, reply()[20:], size=65535), "close")

    def test_its_own_question_sent_back(self) -> None:
        self.check("not of the command set of replies", question(), "close")

    def test_neither_a_result_nor_an_error(self) -> None:
        self.check("neither a result nor an error", message(7, bytes(16)), "close")

    def test_a_string_longer_than_the_reply(self) -> None:
        payload = reply()[20:48] + b"\xff\xff\xff\xff" + bytes(40)
        self.check("a string is longer than the reply", message(0, payload), "close")

    def test_a_result_that_holds_nothing(self) -> None:
        self.check("no version in the reply", message(0), "close")

    def test_an_error_without_a_code(self) -> None:
        self.check("an error reply without a code", message(answers.ERROR), "close")

    def test_the_end_within_the_header(self) -> None:
        self.check("closed the connection after 19 bytes", reply()[:19], "close")

    def test_the_end_within_the_reply(self) -> None:
        self.check("closed the connection after", reply()[:-1], "close")

    def test_the_end_in_place_of_an_answer_is_a_refusal(self) -> None:
        process = self.scene.wait(self.scene.begin(script("close")), "unreachable")
        self.assertEqual(process["reason"], "refused")
        self.assertIn("closed the connection without an answer", process["detail"])


class Late(Answer):
    """A target that keeps the daemon waiting is left when its two seconds are over."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        # All at once, so that all of them together take no longer than one.
        cls.fakes = {name: cls.scene.begin(steps) for name, steps in {
            "silent": SILENT,
            "header": script(reply()[:20]),
            "byte": script(reply()[:-1]),
            "huge": script(message(0, reply()[20:], size=65535)),
            "older": " ".join([script(error(UNKNOWN_COMMAND), "close"), SILENT]),
        }.items()}

    def check(self, name: str, detail: str) -> None:
        process = self.scene.wait(self.fakes[name], "unreachable")
        self.assertEqual(process["reason"], "timeout")
        self.assertIn(detail, process["detail"])
        self.assertEqual(self.scene.states(self.fakes[name])[:2], ["detected", "unreachable"])

    def test_another_process_is_served_while_one_is_waited_for(self) -> None:
        silent = self.scene.begin(SILENT)
        silent.wait_connection()
        self.scene.wait(self.scene.begin(READY), "ready")
        self.assertEqual(self.scene.states(silent), ["detected"])

    def test_silent(self) -> None:
        self.check("silent", "no whole answer to ProcessInfo3 within 2000 ms (0 bytes)")

    def test_a_header_and_no_more(self) -> None:
        self.check("header", "(20 bytes)")

    def test_all_but_the_last_byte(self) -> None:
        self.check("byte", f"({len(reply()) - 1} bytes)")

    def test_a_size_beyond_what_comes(self) -> None:
        self.check("huge", f"({len(reply())} bytes)")

    def test_silent_at_an_older_question(self) -> None:
        self.check("older", "no whole answer to ProcessInfo2 within 2000 ms (0 bytes)")
