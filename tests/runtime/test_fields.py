# SPDX-License-Identifier: MIT
"""Every field of a process, against what /proc and Microsoft's own client say of it."""

import json
import os
import re
import time
import unittest
from pathlib import Path
from typing import Any

from lib.daemon import Daemon
from lib.require import require_bpf
from lib.subscription import Process
from programs import Sample, run


def from_proc(pid: int) -> Process:
    """The fields that /proc knows, read here in another way than the daemon does."""
    proc = Path(f"/proc/{pid}")
    status = dict(re.findall(r"^(\w+):\s*(.*)$", (proc / "status").read_text(), re.MULTILINE))
    socket = socket_path(proc)
    return {
        "pid": pid,
        "namespacePid": int(status["NSpid"].split()[-1]),
        "startTime": int((proc / "stat").read_text().rpartition(")")[2].split()[19]),
        "uid": int(status["Uid"].split()[1]),
        "gid": int(status["Gid"].split()[1]),
        "command": (proc / "comm").read_text().removesuffix("\n"),
        "executable": os.readlink(proc / "exe"),
        "arguments": (proc / "cmdline").read_bytes().decode().split("\0")[:-1],
        "socketPath": socket,
        "hostSocketPath": f"{proc}/root{socket}",
        "mappingProtection": mapping_protection(proc),
    }


def socket_path(proc: Path) -> str:
    """Where the one listening socket is bound that carries the runtime's name."""
    inodes = {os.readlink(fd) for fd in (proc / "fd").iterdir()}
    lines = map(str.split, (proc / "net/unix").read_text().splitlines()[1:])
    path, = (line[7] for line in lines if f"socket:[{line[6]}]" in inodes and line[3] == "00010000"
             and "dotnet-diagnostic-" in line[-1])
    return path


def mapping_protection(proc: Path) -> str | None:
    """What the named mapping allows; None where the runtime makes none."""
    found = re.search(r" (\S+) .*/memfd:dotnet_ipc_created \(deleted\)$",
                      (proc / "maps").read_text(), re.MULTILINE)
    return found and found[1]


def from_client(pid: int) -> Process:
    """The fields that the runtime knows, as Microsoft's client library reads them."""
    info: dict[str, Any] = json.loads(run("client", "info", pid))
    return {
        "runtimeCookie": info["RuntimeInstanceCookie"],
        "runtimeVersion": info["ClrProductVersionString"],
        "entryAssembly": info["ManagedEntrypointAssemblyName"],
        "operatingSystem": info["OperatingSystem"],
        "architecture": info["ProcessArchitecture"],
        "portableRid": info["PortableRuntimeIdentifier"],
    }


def cgroup_paths(pid: int) -> list[str]:
    """The process's path in each hierarchy, the unified one first."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    return [line.split(":", 2)[2] for line in sorted(lines, key=lambda line: line[:1] != "0")]


class Fields:
    """The whole object: a field without an expectation fails, so that a new one gets its own."""

    sample: str
    maxDiff = None

    def test_found_by_the_kernel_every_field_is_as_the_process_itself_has_it(self) -> None:
        require_bpf()
        begin = time.time_ns() // 1000
        with Daemon() as daemon, Sample(self.sample) as sample:
            daemon.subscribe().wait_state(sample.pid, "ready")
            sample.wait_main()
            self.compare(daemon, sample, begin, {"mapping", "listen"})

    def test_found_by_the_scan_every_field_is_as_the_process_itself_has_it(self) -> None:
        with Sample(self.sample) as sample:
            sample.wait_main()
            begin = time.time_ns() // 1000
            with Daemon() as daemon:
                self.compare(daemon, sample, begin, {"scan"})

    def compare(self, daemon: Daemon, sample: Sample, begin: int, signals: set[str]) -> None:
        """Get, List, Subscribe, `show`, and the truth are one."""
        pid = sample.pid
        process = daemon.call("Get", pid=pid)["process"]
        self.assertEqual(daemon.call("List", filter={"pid": pid})["processes"], [process])
        self.assertEqual(daemon.subscribe(pid=pid).wait_state(pid, "ready"), process)
        self.assertEqual(json.loads(daemon.ctl("show", str(pid), "--json=short").stdout), process)
        # Not `dotnet-trace ps`: it fails when any .NET process ends while it looks.
        self.assertIn(pid, json.loads(run("client", "processes")))

        expected = from_proc(pid) | from_client(pid) | {"state": "ready"}
        if expected["mappingProtection"] is None:
            del expected["mappingProtection"]
        self.assertEqual(process, process | expected)
        self.check_the_rest({name: process[name] for name in process.keys() - expected.keys()},
                            cgroup_paths(pid), begin, signals)

    def check_the_rest(self, rest: Process, cgroups: list[str], begin: int,
                       signals: set[str]) -> None:
        """The fields that nobody else has: how, when and under which name the daemon knows it."""
        self.assertTrue(rest.pop("id"))
        self.assertIn(rest.pop("signal"), signals)
        self.assertGreater(rest.pop("sequence"), 0)
        self.assertFalse(rest.pop("argumentsTruncated", False))

        cgroup = rest.pop("cgroup")
        self.assertIn(cgroup, cgroups[:1] if cgroups[0] != "/" else cgroups)
        for name in ("unit", "userUnit", "containerId"):
            self.assertIn(rest.pop(name, ""), cgroup)

        detected, ready = rest.pop("detectedRealtimeUSec"), rest.pop("readyRealtimeUSec")
        self.assertTrue(begin <= detected <= ready <= time.time_ns() // 1000)
        detected, ready = rest.pop("detectedBoottimeUSec"), rest.pop("readyBoottimeUSec")
        self.assertTrue(detected <= ready <= time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000)
        self.assertEqual(rest, {}, "fields that nothing here expects")


class FrameworkDependent(Fields, unittest.TestCase):
    sample = "framework-dependent"


class SelfContained8(Fields, unittest.TestCase):
    sample = "self-contained-8"


class SelfContained10(Fields, unittest.TestCase):
    sample = "self-contained-10"


class SelfContained11(Fields, unittest.TestCase):
    sample = "self-contained-11"


class SingleFile(Fields, unittest.TestCase):
    sample = "single-file"


class NativeAot(Fields, unittest.TestCase):
    sample = "native-aot"
