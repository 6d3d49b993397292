# SPDX-License-Identifier: MIT
"""The diagnostic protocol's bytes, right ones and wrong ones, for a fake target to send."""

import struct
import uuid

MAGIC = b"DOTNET_IPC_V1\0"
OK, ERROR = 0x00, 0xff

UNKNOWN_COMMAND = 0x80131385
FAIL = 0x80004005

OWN_PID = b"own pid!"
"""In place of a pid: fake_sockets.c sends that of the fake, as the fake itself has it."""
COOKIE = uuid.UUID("8f1c2f6e-55aa-4b0d-9e01-1234567890ab")
# What each newer version of the reply brings, by the names under which it is published.
FIRST = {"operatingSystem": "linux", "architecture": "x64"}
SECOND = {"entryAssembly": "Fake", "runtimeVersion": "10.0.0-fake"}
THIRD = {"portableRid": "linux-x64"}
TOLD = FIRST | SECOND | THIRD


def message(command: int, payload: bytes = b"", command_set: int = 0xff,
            size: int | None = None) -> bytes:
    """A whole message; its size field says `size` where one is given."""
    size = 20 + len(payload) if size is None else size
    return MAGIC + struct.pack("<HBBH", size, command_set, command, 0) + payload


def question(version: int = 3) -> bytes:
    """The one thing that the daemon may send."""
    return message({1: 0x00, 2: 0x04, 3: 0x08}[version], command_set=0x04)


def error(code: int) -> bytes:
    """What a runtime sends in place of a reply."""
    return message(ERROR, struct.pack("<I", code))


def string(text: str) -> bytes:
    """A count of UTF-16 units, the NUL among them, and the units."""
    units = (text + "\0").encode("utf-16-le", "surrogatepass")
    return struct.pack("<I", len(units) // 2) + units


def reply(version: int = 3, pid: int | None = None, **fields: str) -> bytes:
    """A reply to ProcessInfo of this version; pid and fields replace what is sent for them."""
    values = {"commandLine": "fake"} | FIRST | SECOND | THIRD | fields
    names = ["commandLine", *FIRST]
    names += [*SECOND] if version > 1 else []
    names += [*THIRD] if version > 2 else []
    payload = struct.pack("<I", 1) if version > 2 else b""
    payload += (OWN_PID if pid is None else struct.pack("<Q", pid)) + COOKIE.bytes_le
    return message(OK, payload + b"".join(string(values[name]) for name in names))


def script(*steps: bytes | str) -> str:
    """Steps of an answer, as the fake target takes them: bytes, "torn", "close", "exit"."""
    return ",".join(step.hex() if isinstance(step, bytes) else step for step in steps)


# As a runtime does it.
READY = script(reply(), "close")
SILENT = "wait"
