# SPDX-License-Identifier: MIT
"""What a client sends that is no message: its connection ends, with a reason, and no other does."""

import json
import socket

from lib.client_test import ClientTest
from lib.require import require_root
from lib.varlink import INTERFACE

MESSAGE_MAX = 64 << 10
CALL = json.dumps({"method": f"{INTERFACE}.Status"}).encode() + b"\0"


def call_with(parameters: bytes) -> bytes:
    """A call of Status, which has no parameters, with these."""
    return b'{"method":"%s.Status","parameters":%s}\0' % (INTERFACE.encode(), parameters)


def nested(levels: int) -> bytes:
    """A call that is so many levels deep."""
    inside = levels - 2  # the message, and the object of its parameters
    return call_with(b'{"deep":' + b"[" * inside + b"]" * inside + b"}")


class Frames(ClientTest):

    @classmethod
    def setUpClass(cls) -> None:
        require_root()  # to whom alone the daemon tells how often it happened
        super().setUpClass()

    def assert_closed(self, data: bytes, reason: str) -> None:
        """The daemon ends a connection that sends this, without a word to it, and logs why."""
        malformed = self.counter("connectionsMalformed")
        logged = len(self.daemon.stderr)
        client = self.client()
        try:
            client.send_raw(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it needs not read to the end what it will not take
        with self.assertRaises(EOFError):
            client.recv_frame()
        self.assertIn(f"uid 0 closed: {reason}", self.daemon.stderr[logged:])
        self.assertEqual(self.counter("connectionsMalformed"), malformed + 1)

    def test_half_a_frame_waits_for_its_rest_while_others_are_served(self) -> None:
        client = self.client()
        client.send_raw(CALL[:20])
        self.assertEqual(self.client().call("Status")["version"],
                         self.bystander.call("Status")["version"])
        client.send_raw(CALL[20:])
        self.assertIn("version", client.recv_message()["parameters"])

    def test_a_frame_torn_at_every_byte_is_one_frame(self) -> None:
        client = self.client()
        for i in range(len(CALL)):
            client.send_raw(CALL[i:i + 1])
            self.bystander.call("org.varlink.service.GetInfo")  # the daemon has seen that byte
        self.assertIn("version", client.recv_message()["parameters"])

    def test_half_a_frame_and_then_the_end_is_a_fault(self) -> None:
        malformed = self.counter("connectionsMalformed")
        client = self.client()
        client.send_raw(CALL[:20])
        client.socket.shutdown(socket.SHUT_WR)
        with self.assertRaises(EOFError):
            client.recv_frame()
        self.assertEqual(self.counter("connectionsMalformed"), malformed + 1)

    def test_half_a_frame_and_then_nobody_is_forgotten(self) -> None:
        logged = len(self.daemon.stderr)
        client = self.client()
        client.send_raw(CALL[:20])
        client.close()
        self.client().call("Status")  # accepted and answered after the other had gone
        self.assertIn("closed: the end within a message", self.daemon.stderr[logged:])

    def test_a_storm_of_empty_frames_ends_with_the_first(self) -> None:
        self.assert_closed(b"\0" * (1 << 20), "an empty message")

    def test_a_method_name_of_a_mebibyte(self) -> None:
        name = b"a" * (1 << 20)
        self.assert_closed(b'{"method":"' + name + b'"}\0', "a message that is too long")

    def test_a_message_of_the_longest_length_is_read_and_one_byte_more_is_not(self) -> None:
        client = self.client()
        longest = CALL[:-1].ljust(MESSAGE_MAX)
        client.send_raw(longest + b"\0" + CALL)
        for _ in range(2):
            self.assertIn("version", client.recv_message()["parameters"])
        self.assert_closed(longest + b" \0", "a message that is too long")
        self.assert_closed(longest + b" ", "a message that is too long")

    def test_sixteen_levels_are_read_and_seventeen_are_not(self) -> None:
        client = self.client()
        client.send_raw(nested(16))
        self.assertEqual(client.recv_message()["parameters"], {"parameter": "deep"})
        self.assert_closed(nested(17), "nested too deeply")
        self.assert_closed(b"[" * 60000 + b"\0", "nested too deeply")

    def test_brackets_in_a_string_are_no_levels(self) -> None:
        client = self.client()
        client.send_raw(call_with(b'{"deep":"' + b"[{" * 100 + b'\\"[["}'))
        self.assertEqual(client.recv_message()["parameters"], {"parameter": "deep"})

    def test_what_is_not_json(self) -> None:
        for data in (b"\xff", b"{", b"}", b"nonsense", b"{}{}", b" ", b'{"method":}',
                     b"{'method':'a.b'}", b'{"method":"a.b",}', b'{"method":"a\nb"}'):
            with self.subTest(data):
                self.assert_closed(data + b"\0", "not JSON")

    def test_text_that_is_not_utf_8(self) -> None:
        for text in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82",
                     b"\\ud800", b"\\u0000"):
            with self.subTest(text):
                self.assert_closed(call_with(b'{"a":"' + text + b'"}'), "not JSON")
                self.assert_closed(call_with(b'{"' + text + b'":1}'), "not JSON")

    def test_duplicate_keys(self) -> None:
        self.assert_closed(b'{"method":"a.b","method":"a.b"}\0', "not JSON")
        self.assert_closed(call_with(b'{"a":1,"a":1}'), "not JSON")

    def test_integers_that_no_integer_holds(self) -> None:
        self.assert_closed(call_with(b'{"a":9223372036854775808}'), "not JSON")

    def test_what_is_json_and_no_call(self) -> None:
        cases = {
            b"[]": "not an object",
            b'["method"]': "not an object",
            b"{}": "no method",
            b'{"method":null}': "no method",
            b'{"method":""}': "no method",
            b'{"method":1}': "no method",
            b'{"parameters":{}}': "no method",
            b'{"method":"a.b","parameters":[]}': "parameters that are not an object",
            b'{"method":"a.b","parameters":"x"}': "parameters that are not an object",
            b'{"method":"a.b","more":1}': "oneway, more or upgrade that is not a boolean",
            b'{"method":"a.b","oneway":"true"}': "oneway, more or upgrade that is not a boolean",
            b'{"method":"a.b","oneway":true,"more":true}':
                "oneway, more and upgrade exclude each other",
            b'{"method":"a.b","mroe":true}': "a member that Varlink does not know",
        }
        for data, reason in cases.items():
            with self.subTest(data):
                self.assert_closed(data + b"\0", reason)

    def test_calls_before_the_fault_are_answered(self) -> None:
        client = self.client()
        client.send_raw(CALL * 3 + b"nonsense\0" + CALL)
        for _ in range(3):
            self.assertIn("version", client.recv_message()["parameters"])
        with self.assertRaises(EOFError):
            client.recv_frame()

    def test_many_at_once_harm_nobody(self) -> None:
        faulty = [self.client() for _ in range(100)]
        waiting = [self.client() for _ in range(100)]
        for client in waiting:
            client.send_raw(CALL[:-1])
        for client in faulty:
            client.send_raw(b"\0\xff{")
        for client in faulty:
            with self.assertRaises(EOFError):
                client.recv_frame()
        for client in waiting:
            client.send_raw(b"\0")
        for client in waiting:
            self.assertIn("version", client.recv_message()["parameters"])
