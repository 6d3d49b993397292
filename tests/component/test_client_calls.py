# SPDX-License-Identifier: MIT
"""Calls: what is wrong with one is told, and the connection goes on; answers come in order."""

import json
import socket
from typing import Any

from lib import interface
from lib.client_test import ClientTest
from lib.varlink import INTERFACE, Client, VarlinkError

SERVICE = "org.varlink.service"
NO_PID = 5_000_000  # above what a pid can be
INVALID = f"{SERVICE}.InvalidParameter"
NO_PROCESS = f"{INTERFACE}.NoSuchProcess"


def call(method: str, parameters: dict[str, Any] | None = None, **flags: bool) -> bytes:
    """A call as bytes."""
    message = {"method": method, "parameters": parameters or {}} | flags
    return json.dumps(message).encode() + b"\0"


class Calls(ClientTest):

    def assert_error(self, client: Client, data: bytes, name: str, **parameters: Any) -> None:
        """The answer to this call is this error."""
        client.send_raw(data)
        self.assertEqual(client.recv_message(), {"error": name} | (
            {"parameters": parameters} if parameters else {}))

    def assert_served(self, client: Client) -> None:
        """The connection goes on, and has nothing left to say of what was before."""
        self.assertIn("version", client.call("Status"))

    def test_methods_and_interfaces_that_are_not_there(self) -> None:
        client = self.client()
        for name in (f"{INTERFACE}.Nothing", f"{INTERFACE}.list", f"{SERVICE}.Nothing",
                     f"{INTERFACE}.", "Nothing", "\x1b[31m\u2028"):
            with self.subTest(name):
                self.assert_error(client, call(name), f"{SERVICE}.MethodNotFound", method=name)
        for name, of in ((f"{INTERFACE}.List.", f"{INTERFACE}.List"), ("a.b", "a"), (".", ""),
                         ("org.example.Thing.Do", "org.example.Thing"),
                         ("org.dotnetdiscovery.Manage.List", "org.dotnetdiscovery.Manage")):
            with self.subTest(name):
                self.assert_error(client, call(name), f"{SERVICE}.InterfaceNotFound", interface=of)
        self.assert_served(client)

    def test_parameters_that_a_method_does_not_have(self) -> None:
        client = self.client()
        for method, parameters in (("Status", {}), ("List", {}), ("Get", {"pid": 1}),
                                   ("Subscribe", {}), ("Check", {})):
            with self.subTest(method):
                data = call(f"{INTERFACE}.{method}", parameters | {"Filter": None},
                            more=method == "Subscribe")
                self.assert_error(client, data, INVALID, parameter="Filter")
        self.assert_served(client)

    def test_values_of_the_wrong_type_and_values_that_match_nothing(self) -> None:
        client = self.client()
        pids = (None, "1", 1.0, True, [1], {}, 0, -1, 1 << 31, 1 << 62)
        cases = [("Get", {"pid": pid}, "pid") for pid in pids]
        cases += [("Check", {"pid": pid}, "pid") for pid in pids[1:]]
        cases += [("Get", {}, "pid")]
        cases += [("Get", {"pid": 1, "startTime": value}, "startTime")
                  for value in ("1", 1.0, True, [], {}, -1)]
        cases += [("List", {"filter": value}, "filter") for value in ("x", 1, [], True)]
        for method, parameters, name in cases:
            with self.subTest(method, parameters=parameters):
                self.assert_error(client, call(f"{INTERFACE}.{method}", parameters), INVALID,
                                  parameter=name)
        self.assert_error(client, call(f"{SERVICE}.GetInterfaceDescription"), INVALID,
                          parameter="interface")
        self.assert_served(client)

    def test_filters_of_the_wrong_type_and_filters_that_match_nothing(self) -> None:
        client = self.client()
        cases: dict[str, tuple[Any, ...]] = {
            "pid": ("1", 1.5, True, [], 0, -1, 1 << 31),
            "uid": ("root", 0.0, False, {}, -1, (1 << 32) - 1, 1 << 32),
            "state": ("Ready", "", "dead", 1, ["ready"]),
            "nothing": ("x", None),
            "Pid": (1,),
        }
        cases |= {name: ("", 1, [], "*" * 257)
                  for name in ("unit", "command", "entryAssembly", "runtimeVersion", "containerId")}
        for name, values in cases.items():
            for value in values:
                for method, more in (("List", False), ("List", True), ("Subscribe", True)):
                    with self.subTest(method, name=name, value=value):
                        data = call(f"{INTERFACE}.{method}", {"filter": {name: value}}, more=more)
                        self.assert_error(client, data, INVALID, parameter=name)
        self.assert_served(client)

    def test_null_is_what_was_not_sent(self) -> None:
        client = self.client()
        whole = client.call("List", filter={"pid": NO_PID})
        self.assertEqual(whole["processes"], [])
        everything = dict.fromkeys(interface.INTERFACE.types["Filter"])
        self.assertEqual(client.call("List", filter=everything | {"pid": NO_PID})["processes"], [])
        self.assertIn("processes", client.call("List", filter=None))
        self.assertIn("items", client.call("Check", pid=None))
        client.send_raw(b'{"method":"%s.Status","parameters":null,"more":null,"oneway":null}\0'
                        % INTERFACE.encode())
        self.assertIn("version", client.recv_message()["parameters"])

    def test_subscribe_needs_more(self) -> None:
        client = self.client()
        for flags in ({}, {"more": False}):
            self.assert_error(client, call(f"{INTERFACE}.Subscribe", **flags),
                              f"{SERVICE}.ExpectedMore")
        self.assert_served(client)

    def test_a_method_with_one_reply_gives_one_under_more_too(self) -> None:
        client = self.client()
        for method, parameters in (("Status", {}), ("Check", {}), ("Get", {"pid": NO_PID})):
            client.send(method, parameters, more=True)
            self.assertNotIn("continues", client.recv_message(), method)
        self.assert_served(client)

    def test_oneway_has_no_answer_not_even_an_error(self) -> None:
        client = self.client()
        for method in ("Status", "List", "Subscribe", "Get", "Check", "Nothing"):
            client.send_raw(call(f"{INTERFACE}.{method}", oneway=True))
        self.assert_error(client, call(f"{INTERFACE}.Get", {"pid": NO_PID}), NO_PROCESS, pid=NO_PID)

    def test_upgrade_is_refused(self) -> None:
        client = self.client()
        for method in (f"{INTERFACE}.Status", f"{INTERFACE}.Subscribe", f"{SERVICE}.GetInfo"):
            self.assert_error(client, call(method, upgrade=True), INVALID, parameter="upgrade")
        self.assert_served(client)

    def test_calls_sent_at_once_are_answered_in_order(self) -> None:
        client = self.client()
        client.send_raw(b"".join(call(f"{INTERFACE}.Get", {"pid": NO_PID + i}) +
                                 call(f"{INTERFACE}.Check") for i in range(100)))
        for i in range(100):
            self.assertEqual(client.recv_message()["parameters"], {"pid": NO_PID + i})
            self.assertIn("items", client.recv_message()["parameters"])

    def test_calls_behind_a_list_wait_for_its_end(self) -> None:
        client = self.client()
        client.send_raw(call(f"{INTERFACE}.List", more=True) +
                        call(f"{INTERFACE}.Get", {"pid": NO_PID}))
        while (message := client.recv_message()).get("continues"):
            self.assertIn("processes", message["parameters"])
        self.assertIn("processes", message["parameters"])
        self.assertEqual(client.recv_message()["error"], NO_PROCESS)

    def test_a_client_that_sends_no_more_still_gets_its_answers(self) -> None:
        client = self.client()
        client.send_raw(b"".join(call(f"{INTERFACE}.Get", {"pid": NO_PID + i}) for i in range(50)))
        client.socket.shutdown(socket.SHUT_WR)
        for i in range(50):
            self.assertEqual(client.recv_message()["parameters"], {"pid": NO_PID + i})
        with self.assertRaises(EOFError):
            client.recv_frame()

    def test_a_client_that_goes_without_its_answer_is_forgotten(self) -> None:
        for _ in range(50):
            client = self.client()
            client.send_raw(call(f"{INTERFACE}.Check") * 20)
            client.close()


class Service(ClientTest):
    """A client that knows nothing of this interface finds out."""

    def describe(self, client: Client, name: str) -> str:
        """GetInterfaceDescription."""
        reply = client.call("org.varlink.service.GetInterfaceDescription", interface=name)
        self.assertEqual(reply.keys(), {"description"})
        return reply["description"]

    def test_it_tells_who_it_is(self) -> None:
        info = self.client().call("org.varlink.service.GetInfo")
        self.assertEqual(info.keys(), {"vendor", "product", "version", "url", "interfaces"})
        self.assertEqual(info["product"], "dotnet-discoveryd")
        self.assertEqual(info["version"], self.bystander.call("Status")["version"])
        self.assertCountEqual(info["interfaces"], [INTERFACE, "org.varlink.service"])

    def test_its_description_is_the_one_of_the_project(self) -> None:
        self.assertEqual(self.describe(self.client(), INTERFACE), interface.INTERFACE.text)

    def test_every_interface_it_names_has_a_description(self) -> None:
        client = self.client()
        for name in client.call("org.varlink.service.GetInfo")["interfaces"]:
            self.assertRegex(self.describe(client, name), rf"(?m)^interface {name}$")

    def test_an_interface_it_does_not_have(self) -> None:
        with self.assertRaises(VarlinkError) as caught:
            self.describe(self.client(), "org.example.Nothing")
        self.assertEqual((caught.exception.name, caught.exception.parameters),
                         ("org.varlink.service.InterfaceNotFound",
                          {"interface": "org.example.Nothing"}))
