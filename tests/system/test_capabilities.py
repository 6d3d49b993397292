# SPDX-License-Identifier: MIT
"""The daemon has four capabilities. Each is taken away in turn, and what it was for is no more.

Boot and the other scenarios show that it needs no fifth.
"""

import os
import pwd
from pathlib import Path

import guest
from lib.fakes import Fakes
from lib.require import require

DENIED = "EACCES"
PARANOID = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())


class Capabilities(guest.Scenario):
    """Alice runs two processes, one with its socket where everybody may go and one in a folder of
    her own, and root runs one. An administrator edits the unit, and looks at what is left.
    """

    alice: pwd.struct_passwd
    fakes: Fakes
    open: int
    closed: int
    roots: int

    @classmethod
    def setUpClass(cls) -> None:
        cls.alice = guest.add_user("alice")
        cls.fakes, own = (cls.enterClassContext(Fakes()) for _ in range(2))
        os.chown(own.folder, cls.alice.pw_uid, cls.alice.pw_gid)
        own.folder.chmod(0o700)
        cls.open = cls.fakes.spawn_one(uid=cls.alice.pw_uid)
        cls.closed = own.spawn_one(uid=cls.alice.pw_uid)
        cls.roots = cls.fakes.spawn_one()

    def restart_with(self, capabilities: str) -> None:
        """The daemon with this line more in its unit, after which it has started again."""
        guest.drop_in(guest.SERVICE, f"[Service]\nCapabilityBoundingSet={capabilities}\n")
        guest.systemctl("restart", guest.SERVICE)

    def assert_ready(self, *pids: int) -> None:
        subscription = self.subscribe()
        for pid in pids:
            subscription.wait_state(pid, "ready")

    def assert_denied(self, pid: int, what: str) -> None:
        """The process is unreachable, and program and person are told why."""
        process = self.subscribe().wait_state(pid, "unreachable")
        self.assertEqual(process["reason"], "permission_denied")
        self.assertTrue(process["detail"].endswith(f": {what} ({DENIED})"), process["detail"])
        self.assertIn(f"{what} ({DENIED})", guest.ctl("check", str(pid), check=False))

    def assert_missing(self, *capabilities: str) -> None:
        """A check names these, and no other."""
        items = {item["name"]: item for item in guest.call("Check")["items"]}
        self.assertFalse(items["privileges"]["ok"])
        for name in ("CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_OVERRIDE"):
            self.assertEqual(f"{name} to " in items["privileges"]["detail"], name in capabilities)
        self.assertIn(f"✗ privileges  missing {capabilities[0]} to ",
                      guest.ctl("check", check=False))

    def assert_degraded(self, capability: str) -> None:
        """The daemon says by itself that it lacks this one, and what that costs."""
        sentence, = guest.call("Status")["degraded"]
        self.assertTrue(sentence.startswith(f"missing {capability} to "), sentence)
        self.assertTrue(sentence.endswith("other users' processes are unreachable"), sentence)

    def assert_no_bpf(self, mechanism: str, *attached: str) -> None:
        """What notices processes is no BPF; Status, journal and check say why, and the cost."""
        status = guest.call("Status")
        self.assertEqual(status["mechanism"], mechanism)
        self.assertEqual([program["name"] for program in status["programs"] if program["attached"]],
                         list(attached))
        reasons = {item["name"]: item["detail"] for item in status["mechanisms"]
                   if "detail" in item}
        for name in ("fentry", "syscall-tracepoint", "raw-tracepoint"):
            self.assertIn("CAP_BPF and CAP_PERFMON", reasons[name])
        self.assertIn("what is not noticed is found by the next scan", "".join(status["degraded"]))
        for field, told in (("DEGRADED", status["degraded"]), ("MECHANISM", [])):
            entries = guest.journal(_PID=guest.main_pid(), MESSAGE_ID=guest.MESSAGES[field])
            self.assertEqual([entry["MESSAGE"] for entry in entries][:len(told)], told)
            self.assertEqual({entry["PRIORITY"] for entry in entries}, {"4"})
        items = {item["name"]: item for item in guest.call("Check")["items"]}
        self.assertFalse(items["mechanism"]["ok"])
        self.assertIn("not fentry", items["mechanism"]["detail"])

    def assert_noticed(self, by: str) -> None:
        """A process that starts becomes ready, and this told of it."""
        new = self.fakes.spawn_one(uid=self.alice.pw_uid)
        self.assertEqual(self.subscribe().wait_state(new, "ready")["signal"], by)
        self.fakes.end(new)

    def test_with_all_four_everything_is_there(self) -> None:
        self.restart_with("~CAP_SYS_ADMIN")  # which it did not have
        self.assert_ready(self.open, self.closed, self.roots)
        self.assertNotIn("degraded", guest.call("Status"))
        self.assertNotIn("✗", guest.ctl("check"))

    def test_without_bpf_perf_tells_of_mappings_and_execs(self) -> None:
        require(PARANOID <= 2, "some kernels want CAP_SYS_ADMIN for perf where "
                f"kernel.perf_event_paranoid is {PARANOID}")
        self.restart_with("~CAP_BPF")
        self.assert_missing("CAP_BPF")
        self.assert_no_bpf("perf", "mapping", "exec")
        self.assert_ready(self.open, self.closed, self.roots)  # found in /proc
        self.assert_noticed("mapping")

    def test_without_perfmon_nothing_may_trace_and_scans_are_left(self) -> None:
        self.restart_with("~CAP_PERFMON")
        self.assert_missing("CAP_PERFMON")
        self.assert_no_bpf("scan")
        self.assert_ready(self.open, self.closed, self.roots)
        self.assert_noticed("scan")

    def test_without_sys_ptrace_other_users_processes_are_closed(self) -> None:
        """And those of root that have capabilities which the daemon has not."""
        self.restart_with("~CAP_SYS_PTRACE")
        self.assert_missing("CAP_SYS_PTRACE")
        self.assert_degraded("CAP_SYS_PTRACE")
        for pid in (self.open, self.closed, self.roots):
            self.assert_denied(pid, "opening the root folder of the process failed")

    def test_without_dac_override_other_users_sockets_are_closed(self) -> None:
        """Root's own are not: it owns them."""
        self.restart_with("~CAP_DAC_OVERRIDE")
        self.assert_missing("CAP_DAC_OVERRIDE")
        self.assert_degraded("CAP_DAC_OVERRIDE")
        self.assert_denied(self.open, "connecting is not allowed")
        self.assert_denied(self.closed, "opening failed")
        self.assert_ready(self.roots)

    def test_to_find_a_socket_is_not_to_connect(self) -> None:
        """DAC_READ_SEARCH is less than DAC_OVERRIDE, and too little: connecting means writing."""
        self.restart_with("~CAP_DAC_OVERRIDE\nCapabilityBoundingSet=CAP_DAC_READ_SEARCH")
        self.assert_denied(self.open, "connecting is not allowed")
        self.assert_denied(self.closed, "connecting is not allowed")

    def test_without_any_what_runs_as_root_is_left_out_too(self) -> None:
        self.restart_with("")
        self.assert_missing("CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_OVERRIDE")
        self.assert_no_bpf("scan")
        self.assertEqual(guest.processes(), {})
