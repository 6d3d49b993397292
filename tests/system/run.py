#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boots a guest and runs one scenario in it, as CTest does:

    run.py VERSION FILE [unittest options]   a scenario: run.py 252 tests/system/test_boot.py
    run.py VERSION -- COMMAND...             anything: run.py 257 -- systemctl status --no-pager
    run.py VERSION                           makes what the guest is made of, and boots nothing

VERSION is that of systemd, a key of roots.SUITES. DISCOVERY_BUILD names the build folder whose
install is booted, DISCOVERY_TREES and DISCOVERY_SAMPLES the folders of trees and of .NET samples.

The guest is a container with systemd as its PID 1, a writable layer in memory, no network and a
cgroup of its own. All of it lives in the mount and pid namespaces of this program: whatever ends
it, the kernel ends the guest and takes the mounts away. Exit status: that of the scenario (77: all
skipped), or 77 with the reason where no guest can run.
"""

import importlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from unittest import SkipTest

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
sys.path[0:1] = [str(HERE), str(CHECKOUT / "tests")]

from lib import roots
from lib.child import readable

BUILD = Path(os.environ.get("DISCOVERY_BUILD", CHECKOUT / "build")).resolve()
TREES = Path(os.environ.get("DISCOVERY_TREES", CHECKOUT / "build" / "trees")).resolve()
SAMPLES = Path(os.environ.get("DISCOVERY_SAMPLES", CHECKOUT / "build" / "samples")).resolve()

NAME = "DISCOVERY_GUEST"  # set in the environment of the inner of the two programs
PREFIX = "dotnet-discovery-guest-"
CGROUPS = Path("/sys/fs/cgroup")
TOOLS = ("mmdebstrap", "systemd-nspawn", "unshare", "mount", "chroot", "cmake")
SKIPPED = 77
DEADLINE = 150  # seconds of a guest's life; CTest's is longer

# Runs when the boot is done: its job must not be one that the boot waits for.
UNIT = """[Unit]
Description=Scenario
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=exec
ExecStart=/usr/bin/python3 -u /checkout/tests/system/inside.py
StandardOutput=append:/out/log
StandardError=append:/out/log
"""

CONFIGURATION = {
    # All of the journal goes to the console too, which outlives a guest that hangs. Nothing of it
    # may be missing because much was written.
    "journald": "[Journal]\nForwardToConsole=yes\nMaxLevelConsole=debug\nRateLimitIntervalSec=0\n",
    # Scenarios start within seconds, and again and again, what nobody else does.
    "system": "[Manager]\nDefaultStartLimitIntervalSec=0\n",
}


def main(arguments: list[str]) -> int:
    """Becomes the inner program in namespaces of its own; there, does what is asked."""
    if not arguments or arguments[0] not in roots.SUITES:
        print(__doc__, file=sys.stderr)
        return 2
    if NAME in os.environ:
        try:
            return inner(arguments[0], arguments[1:])
        except SkipTest as reason:
            print(f"SKIPPED {reason}")
            return SKIPPED
    reason = why_not()
    if reason:
        print(f"SKIPPED {reason}")
        return SKIPPED
    os.environ |= {NAME: f"{PREFIX}{os.getpid()}", "DISCOVERY_SAMPLES": str(SAMPLES)}
    argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable,
            "-B", str(Path(__file__).resolve()), *arguments]
    os.execvp(argv[0], argv)


def why_not() -> str | None:
    """The reason why no guest can run on this machine."""
    if os.geteuid():
        return "needs root"
    for tool in TOOLS:
        if not shutil.which(tool):
            return f"{tool} is not installed"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "needs BTF"
    cache = BUILD / "CMakeCache.txt"
    if not cache.exists() or "\nCMAKE_INSTALL_PREFIX:PATH=/usr\n" not in cache.read_text():
        return f"{BUILD} is not configured with -DCMAKE_INSTALL_PREFIX=/usr"
    made = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"],
                          capture_output=True, text=True, check=False)
    return made.stderr.strip() or None


def inner(version: str, arguments: list[str],
          boot_root: Callable[[Path, list[str]], int] | None = None) -> int:
    """Makes what is missing, and boots: here, or as it is told."""
    with ExitStack() as held:
        try:
            tree = held.enter_context(roots.tree(TREES, version))
            # Hides the machine's own: no running systemd or bus is in reach from here on.
            roots.command(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"])
            # Nor its cgroups, which differ from machine to machine.
            roots.command(["mount", "-t", "cgroup2", "cgroup2", str(CGROUPS)])
            with roots.overlaid([tree]):
                pass
        except roots.CannotMake as reason:
            raise SkipTest(f"no guest can run here: {reason}") from reason
        module = load(arguments)
        lower = [tree]
        if not getattr(module, "BARE", False):
            lower.insert(0, held.enter_context(roots.layer(BUILD, version, tree)))
        if not arguments:
            return 0
        root, _ = held.enter_context(roots.overlaid(lower))
        if hasattr(module, "before_boot"):
            module.before_boot(root)
        return (boot_root or run_guest)(root, arguments)


def load(arguments: list[str]) -> ModuleType | None:
    """The scenario's own code, where it is one."""
    if not arguments or arguments[0] == "--":
        return None
    file = Path(arguments[0]).resolve()
    arguments[0] = f"/checkout/{file.relative_to(CHECKOUT)}"
    sys.path.insert(0, str(file.parent))
    return importlib.import_module(file.stem)


def run_guest(root: Path, arguments: list[str]) -> int:
    """Boots the root with a scenario or a command to run; shows what it wrote."""
    out = Path("/run/out")
    out.mkdir()
    prepare(root, out, arguments)
    try:
        with (out / "console").open("w") as console, own_cgroup() as cgroup:
            status = boot(root, out, cgroup, console)
    except TimeoutError as error:
        print(error)
        status = 1
    log = out / "log"
    sys.stdout.write(log.read_text(errors="backslashreplace") if log.exists() else "")
    if status not in (0, SKIPPED):
        print("\n--- console and journal of the guest, which ended with", status)
        print((out / "console").read_bytes().decode(errors="backslashreplace").replace("\r", ""))
    sys.stdout.flush()
    return status


def prepare(root: Path, out: Path, arguments: list[str]) -> None:
    """The scenario's unit and what it reads, and how this guest differs from others."""
    (out / "arguments").write_text(json.dumps(arguments))
    unit = root / "etc/systemd/system/scenario.service"
    unit.write_text(UNIT)
    wants = unit.parent / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / unit.name).symlink_to(f"../{unit.name}")
    for name, text in CONFIGURATION.items():
        file = root / f"etc/systemd/{name}.conf.d/scenario.conf"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    for name in ("checkout", "samples", "out"):
        (root / name).mkdir(exist_ok=True)


def boot(root: Path, out: Path, cgroup: Path, console: object) -> int:
    """Runs the guest to its end, and returns the exit status that its systemd passed on."""
    binds = [f"--bind={out}:/out", f"--bind-ro={CHECKOUT}:/checkout"]
    if SAMPLES.exists():
        binds.append(f"--bind-ro={SAMPLES}:/samples")
    argv = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", f"--directory={root}",
            "--machine=guest", "--console=read-only", "--private-network", "--link-journal=no",
            "--resolv-conf=off", "--timezone=off", "--setenv=TERM=dumb",
            # systemd mounts tracefs where it has the last.
            "--capability=CAP_BPF,CAP_PERFMON,CAP_SYS_RAWIO",
            "--system-call-filter=bpf perf_event_open", *binds, "--boot",
            "systemd.show_status=no"]
    with subprocess.Popen(argv, env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
                          stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                          preexec_fn=lambda: (cgroup / "cgroup.procs").write_text("0")) as guest:
        pidfd = os.pidfd_open(guest.pid)
        try:
            if not readable([pidfd], DEADLINE):
                raise TimeoutError(f"the guest still ran after {DEADLINE} s")
            return guest.wait()
        finally:
            kill(cgroup)
            os.close(pidfd)


# ---- cgroups

@contextmanager
def own_cgroup() -> Iterator[Path]:
    """A cgroup for the guest."""
    for left in CGROUPS.glob(f"{PREFIX}*"):  # of a run that was killed, and so could not do it
        with suppress(FileNotFoundError):
            if left.stat().st_mtime < time.time() - 2 * DEADLINE:
                remove(left)
    cgroup = CGROUPS / os.environ[NAME]
    cgroup.mkdir()
    try:
        yield cgroup
    finally:
        remove(cgroup)


def kill(cgroup: Path) -> None:
    """Kills all that is in it, and waits until nothing is."""
    (cgroup / "cgroup.kill").write_text("1")
    with (cgroup / "cgroup.events").open() as events:
        changed = select.poll()
        changed.register(events, select.POLLPRI)
        while "populated 1" in os.pread(events.fileno(), 4096, 0).decode():
            if not changed.poll(10_000):
                raise TimeoutError("the guest's processes still were there 10 s after their kill")


def remove(cgroup: Path) -> None:
    """Removes it, with those below it, as far as they are empty."""
    for folder, _, _ in os.walk(cgroup, topdown=False):
        with suppress(OSError):
            os.rmdir(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
