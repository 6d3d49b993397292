# SPDX-License-Identifier: MIT
"""What a machine may withhold from the daemon: it leads to another mechanism, never to an exit."""

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ladder import BPF, Ladder, refusal, without

KERNEL = tuple(map(int, platform.release().split(".")[:2]))
DENY = f"{os.environ['DISCOVERY_BUILD']}/tests/deny"
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
UNPRIVILEGED = Path("/proc/sys/kernel/unprivileged_bpf_disabled")
SMALL = ["prlimit", "--memlock=65536:65536", "--"]


def run(*argv: str) -> None:
    """A command that must end well."""
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


@contextmanager
def hidden(folder: str) -> Iterator[None]:
    """Nothing to be seen in this folder."""
    run("mount", "-t", "tmpfs", "tmpfs", folder)
    try:
        yield
    finally:
        run("umount", folder)


class Tracefs(Ladder):
    """Only the tracepoints of system calls are found through it."""

    def check_only_tracepoints_are_refused(self, *wrapper: str) -> str:
        self.assertEqual(self.take("auto", wrapper)["mechanism"], "fentry")
        self.assertEqual(self.take("raw-tracepoint", wrapper)["mechanism"], "raw-tracepoint")
        status = self.take("syscall-tracepoint", wrapper)
        self.assertEqual(status["mechanism"], "scan")
        return refusal(status, "syscall-tracepoint")

    def test_not_mounted(self) -> None:
        run("umount", "/sys/kernel/tracing")
        try:
            self.assertIn("tracefs is not mounted", self.check_only_tracepoints_are_refused())
        finally:
            run("mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing")

    def test_not_readable(self) -> None:
        run("mount", "-o", "remount,mode=000", "/sys/kernel/tracing")
        try:
            self.assertIn("EACCES", self.check_only_tracepoints_are_refused(
                *without("dac_override", "dac_read_search")))
        finally:
            run("mount", "-o", "remount,mode=700", "/sys/kernel/tracing")


class Btf(Ladder):
    """Without it no program finds its way through the kernel's types."""

    def test_perf_takes_their_place(self) -> None:
        with hidden("/sys/kernel/btf"):
            status = self.take()
        self.assertEqual(status["mechanism"], "perf")
        for mechanism in BPF:
            self.assertIn("BTF", refusal(status, mechanism))


class Memory(Ladder):
    """RLIMIT_MEMLOCK as a shell has it, which counted the memory of programs up to 5.10."""

    def test_who_may_raises_it(self) -> None:
        self.assertEqual(self.take("auto", SMALL)["mechanism"], "fentry")

    def test_who_may_not_uses_what_is_left(self) -> None:
        status = self.take("auto", [*SMALL, *without("sys_resource")])
        if KERNEL >= (5, 11):
            self.assertEqual(status["mechanism"], "fentry")
        else:
            self.assertEqual(status["mechanism"], "perf")
            for mechanism in BPF:
                self.assertIn("LimitMEMLOCK=infinity", refusal(status, mechanism))


class Seccomp(Ladder):
    """A sandbox that forbids system calls."""

    def test_without_bpf_there_is_perf(self) -> None:
        status = self.take("auto", [DENY, "bpf", "--"])
        self.assertEqual(status["mechanism"], "perf")

    def test_without_both_there_are_scans(self) -> None:
        status = self.take("auto", [DENY, "bpf,perf_event_open", "--"])
        self.assertEqual(status["mechanism"], "scan")


class Paranoid(Ladder):
    """Debian's kernels have a level of perf_event_paranoid at which CAP_PERFMON is not enough."""

    def test_what_is_attached_by_perf_says_so(self) -> None:
        level = PARANOID.read_text()
        PARANOID.write_text("3")
        self.addCleanup(PARANOID.write_text, level)
        for mechanism in ("kprobe", "syscall-tracepoint", "perf"):
            with self.subTest(mechanism=mechanism):
                status = self.take(mechanism, without("sys_admin"))
                self.assertEqual(status["mechanism"], "scan")
                self.assertIn("set sysctl kernel.perf_event_paranoid=2",
                              refusal(status, mechanism))


class Unprivileged(Ladder):
    """What others may do with BPF is of no account for who has the capabilities."""

    def test_no_value_matters(self) -> None:
        for value in ("0", "2", "1"):  # nothing undoes the last
            with self.subTest(value=value):
                UNPRIVILEGED.write_text(value)
                status = self.take("auto", without("sys_admin"))
                self.assertEqual(status["mechanism"], "fentry")
