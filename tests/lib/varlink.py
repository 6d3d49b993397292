# SPDX-License-Identifier: MIT
"""A plain Varlink client: JSON objects, each ended by a NUL, over a Unix stream socket.

It is small on purpose: tests must be able to send what no well-behaved client would, and to see
exactly which messages came back.
"""

import json
import os
import socket
import time
from collections.abc import Iterator
from typing import Any

from lib import interface

INTERFACE = interface.INTERFACE.name
TIMEOUT = float(os.environ.get("DISCOVERY_TIMEOUT", "20"))
"""The deadline, in seconds, of every wait that names none."""


class VarlinkError(Exception):
    """The error reply of a call."""

    def __init__(self, name: str, parameters: dict[str, Any]):
        super().__init__(f"{name} {parameters}")
        self.name = name
        self.parameters = parameters


class Client:
    """One connection, made to a path or already made. Methods named without a dot are those of
    INTERFACE, and every reply must be one that its description has.
    """

    def __init__(self, peer: str | socket.socket):
        self._buffer = bytearray()
        if isinstance(peer, socket.socket):
            self.socket = peer
            return
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT)
        try:
            self.socket.connect(peer)
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection, and the wait of a thread that reads from it."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the peer was first
        self.socket.close()

    def call(self, method: str, /, **parameters: Any) -> dict[str, Any]:
        """Calls, and returns the parameters of the one reply; raises VarlinkError."""
        self.send(method, parameters)
        return _parameters(self.recv_message())

    def stream(self, method: str, /, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Calls with `more`, and yields the parameters of each reply as it comes."""
        self.send(method, parameters, more=True)
        continues = True
        while continues:
            message = self.recv_message()
            continues = message.get("continues", False)
            yield _parameters(message)

    def send(self, method: str, parameters: dict[str, Any], more: bool = False) -> None:
        """Sends one call and reads nothing."""
        name = method if "." in method else f"{INTERFACE}.{method}"
        message: dict[str, Any] = {"method": name, "parameters": parameters}
        if more:
            message["more"] = True
        self.send_raw(json.dumps(message).encode() + b"\0")

    def send_raw(self, data: bytes) -> None:
        """Sends bytes as they are, well formed or not."""
        self.socket.settimeout(TIMEOUT)
        self.socket.sendall(data)

    def recv_message(self, timeout: float | None = TIMEOUT) -> dict[str, Any]:
        """The next whole message. Raises TimeoutError, or EOFError where the peer has closed.

        No timeout is for a thread of its own, which close() releases.
        """
        message = json.loads(self.recv_frame(timeout))
        problems = interface.INTERFACE.reply_problems(message)
        assert not problems, f"not as the interface says: {problems}"
        return message

    def recv_frame(self, timeout: float | None = TIMEOUT) -> bytes:
        """The bytes of the next message, without its NUL, whatever they are."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (end := self._buffer.find(b"\0")) < 0:
            if deadline is None:
                self.socket.settimeout(None)
            else:
                # A timeout of 0 would mean non-blocking, which raises another error.
                self.socket.settimeout(max(deadline - time.monotonic(), 1e-6))
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                raise EOFError("the daemon closed the connection")
            self._buffer += data
        frame = bytes(self._buffer[:end])
        del self._buffer[:end + 1]
        return frame


def _parameters(message: dict[str, Any]) -> dict[str, Any]:
    parameters = message.get("parameters", {})
    if "error" in message:
        raise VarlinkError(message["error"], parameters)
    return parameters
