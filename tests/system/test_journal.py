# SPDX-License-Identifier: MIT
"""What an administrator finds in the journal: entries, their fields, and what journalctl -x says."""

import json
import os
import pwd
import re
import signal
from pathlib import Path

import guest
from guest import MESSAGES, Entry
from lib.fakes import Fakes

BOUNDS = (Path(__file__).parents[2] / "daemon/base/bounds.h").read_text()
DROPPED = "a596d6fe7bfa4994828e72309e95d61e"  # journald left out entries of a service


def before_boot(root: Path) -> None:
    """Here journald shall drop what is too much for it, as it does where nobody tells it not to."""
    file = root / "etc/systemd/journald.conf.d/zz-limit.conf"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[Journal]\nRateLimitIntervalSec=30s\nRateLimitBurst=10000\n")


def bound(name: str) -> int:
    """A limit of the daemon."""
    return int(re.search(rf"\bBOUND_JOURNAL_{name} = (\d+),", BOUNDS)[1])


class Journal(guest.Scenario):
    """Processes of alice come and go; an administrator asks the journal, and not the daemon."""

    alice: pwd.struct_passwd

    @classmethod
    def setUpClass(cls) -> None:
        cls.alice = guest.add_user("alice")

    def setUp(self) -> None:
        self.fakes = self.enterContext(Fakes())
        self.after = guest.cursor()

    def restart_with(self, options: str) -> None:
        """The daemon with these options."""
        guest.drop_in(guest.SERVICE, "[Service]\nExecStart=\n"
                                     f"ExecStart=/usr/sbin/dotnet-discoveryd {options}\n")
        guest.systemctl("restart", guest.SERVICE)

    def wait_entry(self, name: str, **fields: object) -> Entry:
        """The entry of this kind, which comes from the daemon."""
        entry = guest.wait_journal(self.after, MESSAGE_ID=MESSAGES[name], **fields)
        self.assertEqual(entry["_SYSTEMD_UNIT"], guest.SERVICE)
        self.assertEqual(entry["SYSLOG_IDENTIFIER"], "dotnet-discoveryd")
        return entry

    def explanation(self, entry: Entry) -> str:
        """What journalctl -x puts below an entry; whole, and in the daemon's own words."""
        shown = guest.run("journalctl", "--quiet", "--catalog", "--lines=1",
                          f"--cursor={entry['__CURSOR']}").stdout
        message, *lines = shown.splitlines()
        self.assertIn(entry["MESSAGE"], message)
        text = "\n".join(line.removeprefix("░░").strip() for line in lines)
        self.assertIn("Defined-By: dotnet-discoveryd", text)
        self.assertIn("Documentation: man:dotnet-discoveryd(8)", text)
        self.assertNotRegex(text, r"@|DOTNET_", "a field was not filled in")
        return text

    def test_a_process_that_becomes_ready_and_ends(self) -> None:
        pid = self.fakes.spawn_one(uid=self.alice.pw_uid, command="shop", version="10.0.9")
        ready = self.wait_entry("READY", DOTNET_PID=pid)
        self.assertEqual(ready["PRIORITY"], "6")
        self.assertEqual(ready["DOTNET_STATE"], "ready")
        self.assertEqual(ready["DOTNET_COMMAND"], "shop")
        self.assertEqual(ready["DOTNET_RUNTIME_VERSION"], "10.0.9")
        self.assertEqual(ready["DOTNET_ENTRY_ASSEMBLY"], self.fakes.assembly)
        self.assertEqual(ready["DOTNET_UNIT"], "scenario.service")
        self.assertNotIn("DOTNET_REASON", ready)
        self.assertEqual(ready["MESSAGE"], f"Process {pid} ({self.fakes.assembly}) can be "
                                           "diagnosed, runtime 10.0.9.")
        text = self.explanation(ready)
        self.assertIn(f"Subject: .NET process {pid} can be diagnosed", text)
        self.assertIn(f"dotnet-discoveryctl show {pid}", text)

        self.fakes.end(pid)
        gone = self.wait_entry("GONE", DOTNET_PID=pid)
        self.assertEqual(gone["PRIORITY"], "6")
        self.assertEqual(gone["DOTNET_STATE"], "gone")
        self.assertEqual(gone["DOTNET_UNIT"], "scenario.service")
        self.assertIn(f"Process {pid} has ended", self.explanation(gone))

    def test_a_process_that_cannot_be_reached(self) -> None:
        pid = self.fakes.spawn_one(uid=self.alice.pw_uid, command="mute", listens=False)
        entry = self.wait_entry("UNREACHABLE", DOTNET_PID=pid)
        self.assertEqual(entry["PRIORITY"], "5")
        self.assertEqual(entry["DOTNET_STATE"], "unreachable")
        self.assertEqual(entry["DOTNET_REASON"], "no_socket")
        self.assertEqual(entry["DOTNET_DETAIL"], "it listens on no Unix socket")
        self.assertEqual(entry["DOTNET_COMMAND"], "mute")
        self.assertEqual(entry["DOTNET_UNIT"], "scenario.service")
        self.assertNotIn("DOTNET_RUNTIME_VERSION", entry)
        self.assertEqual(entry["MESSAGE"], f"Process {pid} (mute) cannot be diagnosed: no_socket, "
                                           "it listens on no Unix socket.")
        text = self.explanation(entry)
        self.assertIn(f"Subject: .NET process {pid} cannot be diagnosed", text)
        self.assertIn("no answer:\nno_socket. ", text)
        self.assertIn(f"dotnet-discoveryctl check {pid}", text)

    def test_records_that_are_lost(self) -> None:
        """More processes than the buffer holds begin while the daemon is not given any time."""
        self.restart_with("--ring-size=4096")
        daemon = guest.main_pid()
        os.kill(daemon, signal.SIGSTOP)
        try:
            pids = self.fakes.spawn(100, uid=self.alice.pw_uid)
        finally:
            os.kill(daemon, signal.SIGCONT)
        entry = self.wait_entry("LOST")
        self.assertEqual(entry["PRIORITY"], "4")
        self.assertRegex(entry["MESSAGE"], r"^\d+ records of the kernel side were lost")
        self.assertIn("--ring-size=", self.explanation(entry))
        subscription = self.subscribe()
        for pid in pids:  # nothing stays lost
            subscription.wait_state(pid, "ready")

    def test_how_processes_are_noticed(self) -> None:
        self.restart_with("--mechanism=raw-tracepoint")
        entry = self.wait_entry("MECHANISM")
        self.assertEqual(entry["PRIORITY"], "5")
        self.assertEqual(entry["DISCOVERY_MECHANISM"], "raw-tracepoint")
        self.assertTrue(entry["MESSAGE"].startswith(
            f"Watching by raw-tracepoint: {entry['DISCOVERY_COST']}; not fentry, "))
        explained = self.explanation(entry)
        self.assertIn(".NET processes are noticed by raw-tracepoint", explained)
        self.assertIn(f"{entry['DISCOVERY_COST']}.", explained)
        self.assertIn("dotnet-discoveryctl status", explained)

    def test_a_daemon_that_lacks_something(self) -> None:
        self.restart_with("--without=exec")
        entry = self.wait_entry("DEGRADED")
        self.assertEqual(entry["PRIORITY"], "4")
        self.assertEqual([entry["MESSAGE"]], guest.call("Status")["degraded"])
        self.assertIn("the kernel program exec is left out on request", entry["MESSAGE"])
        self.assertIn("dotnet-discoveryctl check", self.explanation(entry))

    def test_a_storm(self) -> None:
        """Alice's processes begin and end by the hundred, and then one after another until the
        journal tells how many entries it did not get.
        """
        self.restart_with("")
        subscription = self.subscribe()
        with guest.spawn("journalctl", "--quiet", "--follow", "--no-tail", "--output=json",
                         f"--after-cursor={self.after}",
                         f"MESSAGE_ID={MESSAGES['LEFT_OUT']}") as follow:
            pids = self.fakes.spawn(200, uid=self.alice.pw_uid)
            for pid in pids:
                subscription.wait_state(pid, "ready")
            self.fakes.end(*pids)
            while not follow.has_output():
                pid = self.fakes.spawn_one(uid=self.alice.pw_uid)
                subscription.wait_state(pid, "ready")
                self.fakes.end(pid)
                subscription.wait_state(pid, "gone")
                pids.append(pid)
            left_out = json.loads(follow.read_line())
        self.assertEqual(left_out["PRIORITY"], "5")
        self.assertIn("dotnet-discoveryctl list", self.explanation(left_out))
        self.assert_bounded(told := self.entries_of_storm())
        self.assert_none_is_missing(told, pids, subscription.log)
        self.assertEqual(guest.journal(self.after, MESSAGE_ID=DROPPED), [])

    def entries_of_storm(self) -> list[Entry]:
        """What this daemon wrote of processes, in order."""
        return [entry for entry in guest.journal(self.after, _PID=guest.main_pid())
                if entry.get("MESSAGE_ID") in
                {MESSAGES[name] for name in ("READY", "GONE", "UNREACHABLE", "LEFT_OUT")}]

    def assert_bounded(self, told: list[Entry]) -> None:
        """By bounds.h, however long it took; each entry can bring one that counts."""
        times = [int(entry["__MONOTONIC_TIMESTAMP"]) for entry in told]
        seconds = (max(times) - min(times)) / 1e6 + 1
        changes = [entry for entry in told if "DOTNET_PID" in entry]
        self.assertGreaterEqual(len(changes), bound("BURST"))
        self.assertLessEqual(len(changes), bound("BURST") + bound("PER_SECOND") * seconds)
        self.assertLessEqual(len(told), 2 * len(changes))

    def assert_none_is_missing(self, told: list[Entry], pids: list[int], log: list) -> None:
        """The entries, and those that they say were left out, are all changes there were."""
        told = told[:1 + max(place for place, entry in enumerate(told)
                             if entry["MESSAGE_ID"] == MESSAGES["LEFT_OUT"])]
        counts = [re.match(rf"(\d+) entries about processes of uid {self.alice.pw_uid}, .* were "
                           "left out", entry["MESSAGE"]) for entry in told]
        left_out = sum(int(count[1]) for count in counts if count)
        written = sum(not count for count in counts)
        # The entry in front of which the last count stands.
        after = guest.journal(told[-1]["__CURSOR"], _PID=guest.main_pid())[0]
        changes = [(event.process["pid"], event.process["state"]) for event in log
                   if event.process and event.process["pid"] in pids
                   and event.process["state"] in ("ready", "gone")
                   and event.previous != event.process["state"]]
        last = changes.index((int(after["DOTNET_PID"]), after["DOTNET_STATE"]))
        self.assertEqual(written + left_out, last)
