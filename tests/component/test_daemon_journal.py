# SPDX-License-Identifier: MIT
"""What goes to the journal: entries with fixed MESSAGE_IDs, and lines with their priority.

The journal is a fake here: a socket at its place, in a mount namespace of the daemon's own.
"""

import socket
import tempfile
import unittest
from pathlib import Path

from lib.daemon import Daemon
from lib.require import require_bpf, require_root, require_tool
from lib.varlink import TIMEOUT
from scene import Cast

NAMES = Path(__file__).resolve().parents[2] / "include/discovery_names.h"

# Standard error is the journal's where this variable names its device and inode.
WRAPPER = """
mount --bind "$1" /run/systemd/journal && shift
JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec "$@"
"""


def message_id(name: str) -> str:
    """From the header that names it."""
    for line in NAMES.read_text().splitlines():
        if line.startswith(f"#define DISCOVERY_MESSAGE_{name} "):
            return line.split('"')[1]
    raise KeyError(name)


class Journal(unittest.TestCase):
    """A daemon whose standard error is a journal."""

    def setUp(self) -> None:
        require_root()
        require_bpf()
        require_tool("unshare")
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        self.journal = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.journal.bind(str(folder / "socket"))
        self.journal.settimeout(TIMEOUT)
        Path("/run/systemd/journal").mkdir(parents=True, exist_ok=True)
        self.wrapper = ["unshare", "--mount", "sh", "-c", WRAPPER, "sh", str(folder)]
        self.cast = self.enterContext(Cast())

    def entry(self, name: str, pid: int) -> dict[str, str]:
        """Waits for the entry with this MESSAGE_ID about this process."""
        while True:
            fields = self.fields()
            if fields.get("MESSAGE_ID") == message_id(name) and fields["DOTNET_PID"] == str(pid):
                return fields

    def fields(self) -> dict[str, str]:
        """Those of the next entry."""
        lines = self.journal.recv(65536).decode().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def test_ready_and_gone_are_entries_with_fields(self) -> None:
        with Daemon(wrapper=self.wrapper) as daemon:
            subscription = daemon.subscribe()
            target = self.cast.begin()
            subscription.wait_state(target.pid, "ready")
            ready = self.entry("READY", target.pid)
            self.assertEqual(ready["DOTNET_STATE"], "ready")
            self.assertEqual(ready["PRIORITY"], "6")
            self.assertEqual(ready["SYSLOG_IDENTIFIER"], "dotnet-discoveryd")
            shown = daemon.call("Get", pid=target.pid)["process"]
            self.assertEqual(ready["DOTNET_RUNTIME_VERSION"], shown["runtimeVersion"])
            self.assertEqual(ready["DOTNET_ENTRY_ASSEMBLY"], shown["entryAssembly"])
            self.assertIn(f"Process {target.pid} ", ready["MESSAGE"])
            target.kill()
            self.assertEqual(self.entry("GONE", target.pid)["DOTNET_STATE"], "gone")

    def test_the_first_entry_is_how_processes_are_noticed_and_what_that_costs(self) -> None:
        for name, priority in (("raw-tracepoint", "5"), ("perf", "4"), ("scan", "4")):
            with (self.subTest(name),
                  Daemon([f"--mechanism={name}"], wrapper=self.wrapper) as daemon):
                fields = self.fields()
                self.assertEqual(fields["MESSAGE_ID"], message_id("MECHANISM"))
                self.assertEqual(fields["PRIORITY"], priority)
                self.assertEqual(fields["DISCOVERY_MECHANISM"], name)
                cost, = (item["cost"] for item in daemon.call("Status")["mechanisms"]
                         if item["used"])
                self.assertEqual(fields["DISCOVERY_COST"], cost)
                self.assertTrue(fields["MESSAGE"].startswith(f"Watching by {name}: {cost}; not "))
                for _ in daemon.call("Status").get("degraded", []):
                    self.assertEqual(self.fields()["MESSAGE_ID"], message_id("DEGRADED"))

    def test_what_is_missing_is_a_warning(self) -> None:
        with Daemon(["--without=exec"], wrapper=self.wrapper):
            self.assertEqual(self.fields()["MESSAGE_ID"], message_id("MECHANISM"))
            fields = self.fields()
            self.assertEqual(fields["MESSAGE_ID"], message_id("DEGRADED"))
            self.assertEqual(fields["PRIORITY"], "4")

    def test_other_messages_carry_their_priority(self) -> None:
        with Daemon(["--log-level=debug", "--without=exec"], wrapper=self.wrapper) as daemon:
            subscription = daemon.subscribe()
            target = self.cast.begin()
            subscription.wait_state(target.pid, "ready")
            self.assertIn(f"<7>Process {target.pid} ", daemon.stderr)
