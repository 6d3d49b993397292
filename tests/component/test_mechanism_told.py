# SPDX-License-Identifier: MIT
"""By what processes are noticed is told everywhere alike: what it costs, and why not better."""

import json
import re
import subprocess
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from answers import READY
from lib.daemon import DISCOVERYD, Daemon
from lib.require import require
from lib.varlink import TIMEOUT
from scene import Cast, require_kernel

LADDER = ["fentry", "kprobe", "syscall-tracepoint", "raw-tracepoint", "perf", "scan"]
SCANNING = ("perf", "scan")
PARANOID = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())

# There may be a tracefs at either place.
NO_TRACEFS = ["unshare", "--mount", "sh", "-c",
              "mount -t tmpfs none /sys/kernel/tracing; mount -t tmpfs none /sys/kernel/debug; "
              'exec "$@"', "sh"]
OWN_MOUNTS = ["unshare", "--mount"]
# CAP_SYS_ADMIN is as good as both.
NO_BPF = ["setpriv", "--bounding-set=-bpf,-sys_admin", "--"]
NO_PERFMON = ["setpriv", "--bounding-set=-perfmon,-sys_admin", "--"]

Status = dict[str, Any]


def checked(*options: str, wrapper: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """What a check without a daemon tells, by name."""
    result = subprocess.run([*wrapper, DISCOVERYD, "--check", *options], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False)
    return {item["name"]: item for item in json.loads(result.stdout)["items"]}


class ToldMechanism(unittest.TestCase):
    """Daemons that begin with different options, or with less than all."""

    def setUp(self) -> None:
        require_kernel()

    def begin(self, *options: str, wrapper: Sequence[str] = ()) -> tuple[Daemon, Status]:
        """A daemon, and what it says; Status is right in itself, and the others say the same."""
        daemon = self.enterContext(Daemon(options, wrapper=wrapper))
        status = daemon.call("Status")
        used = status["mechanism"]
        self.assertEqual([item["name"] for item in status["mechanisms"]], LADDER)
        self.assertEqual([item["name"] for item in status["mechanisms"] if item["used"]], [used])
        for item in status["mechanisms"]:
            self.assertTrue(item["cost"])
            self.assertEqual("detail" in item, self.is_better(item["name"], used), item)
        self.assertEqual("scanIntervalUSec" in status, used in SCANNING)
        self.check_lines(daemon, status)
        return daemon, status

    @staticmethod
    def is_better(name: str, used: str) -> bool:
        return LADDER.index(name) < LADDER.index(used)

    def check_lines(self, daemon: Daemon, status: Status) -> None:
        """The log, the service manager, the check and the client."""
        used = status["mechanism"]
        degraded = ", degraded: see dotnet-discoveryctl status" if "degraded" in status else ""
        self.assertIn(f"STATUS=Watching by {used}{degraded}.", daemon.notifications)
        cost = next(item["cost"] for item in status["mechanisms"] if item["used"])
        line, = re.findall(r"^Watching by (.*)\.$", daemon.stderr, re.MULTILINE)
        self.assertTrue(line.startswith(f"{used}: {cost}"), line)
        for sentence in status.get("degraded", []):
            self.assertIn(sentence + "\n", daemon.stderr)

        items = {item["name"]: item for item in daemon.call("Check")["items"]}
        self.assertEqual(items["mechanism"], {"name": "mechanism", "ok": used not in SCANNING,
                                              "detail": line})
        shown = daemon.ctl("status").stdout
        self.assertIn(f"Mechanism: {used} ({cost})\n", shown)
        for item in status["mechanisms"]:
            if "detail" in item:
                for text in (line, shown):
                    self.assertRegex(text, rf"not (\S+, )*{item['name']}(, \S+)*: "
                                     + re.escape(item["detail"]))
        scans = re.findall(r"^ *Scans: one every \d+\S+$", shown, re.MULTILINE)
        self.assertEqual(len(scans), used in SCANNING)

    def reasons(self, status: Status) -> dict[str, str]:
        """Why each better mechanism is not used."""
        return {item["name"]: item["detail"] for item in status["mechanisms"] if "detail" in item}

    def test_auto_is_the_first_that_works_when_it_is_asked_for(self) -> None:
        _, status = self.begin()
        used = status["mechanism"]
        self.assertIn(used, ("fentry", "kprobe", "syscall-tracepoint", "raw-tracepoint"))
        self.assertNotIn("degraded", status)
        for name in LADDER[:LADDER.index(used) + 1]:
            with self.subTest(name):
                items = checked(f"--mechanism={name}")
                self.assertEqual(items["mechanism"]["ok"], name == used, items)

    def test_a_check_says_what_a_daemon_does(self) -> None:
        daemon, _ = self.begin()
        items = {item["name"]: item for item in daemon.call("Check")["items"]}
        self.assertEqual(checked()["mechanism"], items["mechanism"])

    def test_what_is_asked_for_and_works_is_no_trouble(self) -> None:
        _, status = self.begin("--mechanism=raw-tracepoint")
        self.assertEqual(status["mechanism"], "raw-tracepoint")
        self.assertNotIn("degraded", status)
        reason, = set(self.reasons(status).values())
        self.assertIn("not tried", reason)

    def check_stays(self, daemon: Daemon, before: Status, signal: str, *argv: str) -> None:
        """Also where a command has changed what this daemon sees of tracefs."""
        subprocess.run(["nsenter", f"--target={daemon.pid}", "--mount", *argv], check=True,
                       timeout=TIMEOUT)
        with Cast() as cast:
            fake = cast.begin(READY)
            process = daemon.subscribe().wait_state(fake.pid, "ready")
            self.assertEqual(process["signal"], signal)
        status = daemon.call("Status")
        for name in ("mechanism", "mechanisms", "programs"):
            self.assertEqual(status[name], before[name])

    def test_what_works_later_is_not_taken_before_a_restart(self) -> None:
        daemon, status = self.begin("--mechanism=syscall-tracepoint", wrapper=NO_TRACEFS)
        self.assertEqual(status["mechanism"], "scan")
        self.check_stays(daemon, status, "scan", "umount", "/sys/kernel/tracing",
                         "/sys/kernel/debug")

    def test_what_works_is_kept(self) -> None:
        daemon, status = self.begin("--mechanism=syscall-tracepoint", wrapper=OWN_MOUNTS)
        require(status["mechanism"] == "syscall-tracepoint", "it does not work on this kernel")
        self.check_stays(daemon, status, "listen", "mount", "-t", "tmpfs", "none",
                         "/sys/kernel/tracing")

    def test_what_is_asked_for_and_does_not_work_is_told(self) -> None:
        _, status = self.begin("--mechanism=syscall-tracepoint", wrapper=NO_TRACEFS)
        self.assertEqual(status["mechanism"], "scan")
        detail = self.reasons(status)["syscall-tracepoint"]
        self.assertIn("mount -t tracefs", detail)
        self.assertIn(f"--mechanism=syscall-tracepoint is not used: {detail}",
                      status["degraded"])

    def test_scans_at_an_interval_are_told_with_what_is_not_noticed(self) -> None:
        _, status = self.begin("--mechanism=scan")
        self.assertEqual(status["mechanism"], "scan")
        self.assertGreaterEqual(status["scanIntervalUSec"], 1_000_000)
        self.assertLessEqual(status["scanIntervalUSec"], 60_000_000)
        mapping, listen, interval = status["degraded"]
        self.assertIn("a process that starts is not noticed by its mapping", mapping)
        self.assertIn("a process that starts is not noticed by its socket", listen)
        self.assertEqual(interval, "what is not noticed is found by the next scan, of which one is "
                         "made every 1 to 60 s")

    def test_perf_tells_of_mappings_alone(self) -> None:
        _, status = self.begin("--mechanism=perf")
        self.assertEqual(status["mechanism"], "perf")
        listen, interval = status["degraded"]
        self.assertIn("a process that starts is not noticed by its socket", listen)
        self.assertIn("found by the next scan", interval)

    def test_without_tracefs_is_a_matter_of_cost(self) -> None:
        _, status = self.begin(wrapper=NO_TRACEFS)
        items = checked(wrapper=NO_TRACEFS)
        self.assertTrue(items["mechanism"]["ok"])
        if status["mechanism"] == "raw-tracepoint":
            self.assertIn("mount -t tracefs", self.reasons(status)["syscall-tracepoint"])
            self.assertFalse(items["tracefs"]["ok"])
            self.assertEqual(items["tracefs"]["detail"], "the tracepoint sys_enter_mmap is not "
                             "there: raw-tracepoint, which needs no tracefs, costs more; as root: "
                             "mount -t tracefs tracefs /sys/kernel/tracing")
        else:
            self.assertIn(status["mechanism"], ("fentry", "kprobe"))
            self.assertEqual(items["tracefs"], {"name": "tracefs", "ok": True, "detail":
                                                f"not needed by {status['mechanism']}"})

    def test_without_bpf_perf_is_left(self) -> None:
        require(PARANOID <= 2, "some kernels want CAP_SYS_ADMIN for perf where "
                f"kernel.perf_event_paranoid is {PARANOID}")
        _, status = self.begin(wrapper=NO_BPF)
        self.assertEqual(status["mechanism"], "perf")
        for name in ("fentry", "raw-tracepoint"):
            self.assertIn("CAP_BPF", self.reasons(status)[name])

    def test_without_perfmon_scans_are_left(self) -> None:
        _, status = self.begin(wrapper=NO_PERFMON)
        self.assertEqual(status["mechanism"], "scan")
        for name in ("fentry", "raw-tracepoint", "perf"):
            self.assertIn("CAP_PERFMON", self.reasons(status)[name])

    def test_a_name_that_is_none(self) -> None:
        result = subprocess.run([DISCOVERYD, "--mechanism=uprobe"], stderr=subprocess.PIPE,
                                text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "--mechanism=uprobe: expected auto, fentry, kprobe, "
                         "syscall-tracepoint, raw-tracepoint, perf or scan.\n")
