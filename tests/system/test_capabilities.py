# SPDX-License-Identifier: MIT
"""The daemon has four capabilities. Each is taken away in turn, and what it was for is no more.

Boot and the other scenarios show that it needs no fifth.
"""

import os
import pwd

import guest
from lib.fakes import Fakes

DENIED = "EACCES"


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

    def assert_kernel_says_nothing(self) -> None:
        """No program was loaded; Status, journal and check say what that costs."""
        status = guest.call("Status")
        self.assertEqual(status["mechanism"], "scan-at-start")
        self.assertEqual([program["attached"] for program in status["programs"]], [False] * 4)
        for name, sentence in zip(("mapping", "listen", "exec", "scan"), status["degraded"], strict=False):
            self.assertIn(f"the kernel program {name} is not loaded (EPERM)", sentence)
            self.assertIn("CAP_BPF and CAP_PERFMON", sentence)
        told = guest.journal(_PID=guest.main_pid(), MESSAGE_ID=guest.MESSAGES["DEGRADED"])
        self.assertEqual([entry["MESSAGE"] for entry in told], status["degraded"])
        new = self.fakes.spawn_one(uid=self.alice.pw_uid)
        items = {item["name"]: item for item in guest.call("Check", pid=new)["items"]}
        self.assertFalse(items["signal"]["ok"], "a process that starts was noticed")
        self.assertNotIn(new, guest.processes())
        self.fakes.end(new)

    def test_with_all_four_everything_is_there(self) -> None:
        self.restart_with("~CAP_SYS_ADMIN")  # which it did not have
        self.assert_ready(self.open, self.closed, self.roots)
        self.assertNotIn("degraded", guest.call("Status"))
        self.assertNotIn("✗", guest.ctl("check"))

    def test_without_bpf_no_kernel_program_is_loaded(self) -> None:
        self.restart_with("~CAP_BPF")
        self.assert_missing("CAP_BPF")
        self.assert_kernel_says_nothing()
        self.assert_ready(self.open, self.closed, self.roots)  # found in /proc

    def test_without_perfmon_no_kernel_program_may_trace(self) -> None:
        self.restart_with("~CAP_PERFMON")
        self.assert_missing("CAP_PERFMON")
        self.assert_kernel_says_nothing()
        self.assert_ready(self.open, self.closed, self.roots)

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
        self.assert_kernel_says_nothing()
        self.assertEqual(guest.processes(), {})
