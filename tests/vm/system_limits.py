# SPDX-License-Identifier: MIT
"""What holds a service on a machine and nothing holds in a container: the limits of its cgroup, and
that of memory which counts BPF's on old kernels.
"""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "system"))

import guest
from lib.fakes import Fakes

CGROUP = Path("/sys/fs/cgroup/system.slice") / guest.SERVICE
FAKES = 100


def number(name: str) -> int:
    """A figure of the service's cgroup."""
    return int((CGROUP / name).read_text())


class Limits(guest.Scenario):
    """The daemon as it is installed, on a kernel that is not the machine's."""

    def test_nothing_is_missing_and_the_cheapest_mechanism_is_used(self) -> None:
        status = guest.call("Status")
        self.assertEqual(status["mechanism"], "fentry")
        self.assertNotIn("degraded", status)
        print(f"kernel {status['kernelRelease']}, systemd "
              f"{guest.systemctl('--version').split()[1]}")

    def test_a_service_is_noticed_when_it_starts(self) -> None:
        subscription = self.subscribe()
        subscription.wait_synced()
        web = guest.dotnet_service("web", PrivateTmp="yes")
        web.start()
        process = subscription.wait_state(web.pid, "ready")
        self.assertEqual((process["signal"], process["unit"]), ("listen", web.unit))

    def test_memory_may_be_locked_without_limit(self) -> None:
        limits = Path(f"/proc/{guest.main_pid()}/limits").read_text()
        self.assertRegex(limits, r"(?m)^Max locked memory +unlimited +unlimited")

    def test_it_lives_within_32_mib_with_a_hundred_processes(self) -> None:
        guest.drop_in(guest.SERVICE, "[Service]\nMemoryMax=32M\nMemorySwapMax=0\nTasksMax=16\n")
        guest.systemctl("restart", guest.SERVICE)
        self.assertEqual(number("memory.max"), 32 * 1024 * 1024)
        self.assertEqual(number("pids.max"), 16)
        idle, tasks = number("memory.current"), number("pids.current")
        subscription = self.subscribe()
        with Fakes() as fakes:
            for pid in fakes.spawn(FAKES):
                subscription.wait_state(pid, "ready")
            busy = number("memory.current")
        events = dict(re.findall(r"^(\w+) (\d+)$", (CGROUP / "memory.events").read_text(),
                                 re.MULTILINE))
        self.assertEqual((events["oom"], events["oom_kill"]), ("0", "0"))
        self.assertEqual(guest.call("Status")["mechanism"], "fentry")
        print(f"memory of the cgroup, KiB: {idle // 1024} idle, {busy // 1024} with {FAKES} "
              f"processes; {tasks} tasks idle")

    def test_a_limit_below_what_it_needs_is_enforced(self) -> None:
        guest.drop_in(guest.SERVICE, "[Service]\nMemoryMax=1M\nMemorySwapMax=0\nRestart=no\n")
        self.addCleanup(guest.systemctl, "restart", guest.SERVICE)
        self.addCleanup(guest.drop_in, guest.SERVICE, "")
        guest.systemctl("restart", guest.SERVICE, check=False)
        self.assertEqual(guest.show(guest.SERVICE, "Result"), "oom-kill")
