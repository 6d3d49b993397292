# SPDX-License-Identifier: MIT
"""What the daemon can do to the machine, and that it can do its work all the same."""

import json
import os
import re
from pathlib import Path

import guest
from lib.fakes import Fakes

CAPABILITIES = 1 << 1 | 1 << 19 | 1 << 38 | 1 << 39  # DAC_OVERRIDE, SYS_PTRACE, PERFMON, BPF


class Confined(guest.Scenario):
    """Somebody else's program has got into the daemon's place: it has its user, capabilities, files
    and filters, and tries what it should not be able to.
    """

    @classmethod
    def setUpClass(cls) -> None:
        marker = Path("/var/tmp/shared/marker")
        marker.parent.mkdir()
        marker.write_text("as it was")
        marker.chmod(0o666)
        output = Path("/run/intruder.out")
        with guest.spawn("cat", user="nobody") as other:
            guest.drop_in(guest.SERVICE, "[Service]\nType=oneshot\nRestart=no\nExecStart=\n"
                          "ExecStart=/usr/bin/python3 -I -S -B /checkout/tests/system/intruder.py "
                          f"{marker} {other.pid}\nStandardOutput=file:{output}\n")
            guest.systemctl("restart", guest.SERVICE)
            assert other.process.poll() is None, "it was ended"
        cls.marker = marker
        cls.results = json.loads(output.read_text())

    def assert_all_failed(self, what: str, *how: str) -> None:
        for name, result in self.results[what].items():
            self.assertIn(result, how, f"{what}: {name}")

    def assert_all_equal(self, what: str, value: object) -> None:
        for name, result in self.results[what].items():
            self.assertEqual(result, value, f"{what}: {name}")

    def test_it_can_write_to_nothing_that_it_sees(self) -> None:
        # systemd 254 and later open this file of its own cgroup for a service.
        own = f"/sys/fs/cgroup/system.slice/{guest.SERVICE}/memory.pressure"
        self.assertEqual([path for path in self.results["writable mounts"] if path != own], [])
        self.assert_all_failed("make a file", "EROFS", "EACCES", "ENOENT")
        self.assert_all_failed("write to a file", "EROFS", "EACCES", "ENOENT")

    def test_it_sees_nothing_of_users(self) -> None:
        self.assert_all_equal("folders seen", [])

    def test_it_changes_no_file_that_it_reaches_through_a_process(self) -> None:
        self.assert_all_failed("change files", "EPERM")
        self.assertEqual(os.listdir(self.marker.parent), [self.marker.name])
        self.assertEqual(self.marker.stat().st_mode & 0o7777, 0o666)
        self.assertEqual(self.marker.read_text(), "as it was")

    def test_it_could_write_to_one_that_is_there(self) -> None:
        """What remains, as docs/security.md says: a filter cannot tell it from reading."""
        self.assertEqual(self.results["write through a process"], "done")

    def test_it_ends_no_process_and_becomes_nobody_else(self) -> None:
        self.assert_all_failed("processes", "EPERM")
        self.assert_all_failed("itself", "EPERM")

    def test_it_has_no_network(self) -> None:
        self.assert_all_failed("sockets", "EAFNOSUPPORT")
        self.assertEqual(self.results["interfaces"], ["lo"])

    def test_it_reaches_bus_and_journal(self) -> None:
        self.assert_all_equal("connect", "done")


class AtWork(guest.Scenario):
    """The daemon itself, in that sandbox; here it is killed if it calls what its filter lacks."""

    @classmethod
    def setUpClass(cls) -> None:
        guest.drop_in(guest.SERVICE, "[Service]\nRestart=no\nSystemCallErrorNumber=kill\n")
        guest.systemctl("restart", guest.SERVICE)

    def tearDown(self) -> None:
        self.assertEqual(guest.show(guest.SERVICE, "ActiveState"), "active")
        self.assertEqual(guest.show(guest.SERVICE, "Result"), "success")

    def test_it_has_four_capabilities_and_no_way_to_more(self) -> None:
        text = Path(f"/proc/{guest.main_pid()}/status").read_text()
        status = dict(re.findall(r"^(\w+):\s*(\w+)$", text, re.MULTILINE))
        for name in ("CapPrm", "CapEff", "CapBnd"):
            self.assertEqual(int(status[name], 16), CAPABILITIES, name)
        self.assertEqual(int(status["CapAmb"], 16), 0)
        self.assertEqual(int(status["CapInh"], 16) & ~CAPABILITIES, 0)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")  # a filter

    def test_each_point_that_is_left_is_explained(self) -> None:
        """docs/security.md has the table that systemd-analyze makes, with reasons."""
        report = guest.run("systemd-analyze", "security", "--no-pager", guest.SERVICE).stdout
        left = re.findall(r"^✗ (\S+) .* ([0-9.]+)\s*$", report, re.MULTILINE)
        text = (Path(__file__).parents[2] / "docs/security.md").read_text().replace(r"\|", "|")
        explained = re.findall(r"^\| `(\S+)` \| ([0-9.]+) \|", text, re.MULTILINE)
        self.assertEqual(sorted(left), sorted(explained))

    def test_it_is_apart_from_the_machine(self) -> None:
        for name in ("mnt", "net", "ipc", "uts"):
            self.assertNotEqual(os.readlink(f"/proc/{guest.main_pid()}/ns/{name}"),
                                os.readlink(f"/proc/self/ns/{name}"), name)

    def test_it_finds_sockets_in_folders_that_are_closed_to_it(self) -> None:
        """Its own /home, /root and /tmp are empty; those of the process count."""
        alice = guest.add_user("alice")
        for folder, owner in (("/home/alice/of-hers", alice.pw_uid), ("/root/x", 0)):
            Path(folder).mkdir(parents=True, mode=0o700)
            os.chown(folder, owner, owner)
        Path("/home/alice").chmod(0o700)
        os.chown("/home/alice", alice.pw_uid, alice.pw_gid)
        services = {
            "/home/alice/of-hers": guest.dotnet_service(
                "home", User="alice", Environment="TMPDIR=/home/alice/of-hers"),
            "/root/x": guest.dotnet_service("root", Environment="TMPDIR=/root/x"),
            "/tmp": guest.dotnet_service("private", PrivateTmp="yes", PrivateNetwork="yes",
                                         DynamicUser="yes"),
            "/run/own": guest.dotnet_service(
                "own", TemporaryFileSystem="/run/own", Environment="TMPDIR=/run/own"),
        }
        subscription = self.subscribe()
        for folder, service in services.items():
            process = subscription.wait_state(service.start(), "ready")
            self.assertRegex(process["socketPath"], rf"^{folder}/dotnet-diagnostic-")

    def test_it_finds_them_in_proc_too(self) -> None:
        """Where the kernel has no iterator it reads /proc, in which it must see everything."""
        with Fakes() as fakes:
            pid = fakes.spawn_one(uid=65534)
            path = Path("/") / guest.UNITS / f"{guest.SERVICE}.d" / "scan.conf"
            path.write_text("[Service]\nExecStart=\n"
                            "ExecStart=/usr/sbin/dotnet-discoveryd --without=scan\n")
            self.addCleanup(guest.systemctl, "restart", guest.SERVICE)
            self.addCleanup(guest.systemctl, "daemon-reload")
            self.addCleanup(path.unlink)
            guest.systemctl("daemon-reload")
            guest.systemctl("restart", guest.SERVICE)
            process = self.subscribe().wait_state(pid, "ready")
            self.assertEqual(process["signal"], "scan")

    def test_it_knows_the_groups(self) -> None:
        guest.add_user("member", guest.GROUP)
        guest.add_user("stranger")
        with Fakes() as fakes:
            pid = fakes.spawn_one()
            self.subscribe().wait_state(pid, "ready")
            for user, listed in (("member", True), ("stranger", False)):
                text = guest.ctl("list", "--no-legend", user=user)
                self.assertEqual(re.search(rf"^\s*{pid} ", text, re.MULTILINE) is not None, listed)
        self.assertIn(f"✓ group       members of {guest.GROUP} see", guest.ctl("check"))
