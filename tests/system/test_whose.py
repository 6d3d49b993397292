# SPDX-License-Identifier: MIT
"""Services whose unit files put them apart from the rest of the machine, each in its own way."""

import os
import re
from pathlib import Path

import guest
from lib.require import require
from lib.subscription import Process

DYNAMIC_UIDS = range(61184, 65520)


class Sandboxed(guest.Scenario):
    """Each is found, as its unit's, with its uid, at the socket that it has in its own world."""

    def setUp(self) -> None:
        self.subscription = self.subscribe()

    def ready(self, service: guest.DotnetService) -> Process:
        """What is told of it; what holds for all does."""
        pid = service.start()
        process = self.subscription.wait_state(pid, "ready")
        self.assertEqual(process["unit"], service.unit)
        self.assertNotIn("userUnit", process)
        self.assertNotIn("containerId", process)
        own_pid = process["namespacePid"]
        self.assertRegex(process["socketPath"],
                         rf"^/tmp/dotnet-diagnostic-{own_pid}-\d+-socket$")
        self.assertEqual(process["hostSocketPath"], f"/proc/{pid}/root{process['socketPath']}")
        self.assertTrue(Path(process["hostSocketPath"]).is_socket())
        return process

    def test_with_another_root_the_path_is_the_one_below_it(self) -> None:
        root = Path("/srv/root")
        (root / "tmp").mkdir(parents=True)
        process = self.ready(guest.dotnet_service(
            "rooted", RootDirectory=str(root), MountAPIVFS="yes",
            BindReadOnlyPaths="/usr /lib /lib64 /samples"))
        name = Path(process["socketPath"]).name
        self.assertTrue((root / "tmp" / name).is_socket())
        self.assertFalse(Path(process["socketPath"]).exists())

    def test_of_a_dynamic_user(self) -> None:
        process = self.ready(guest.dotnet_service("dynamic", DynamicUser="yes"))
        self.assertIn(process["uid"], DYNAMIC_UIDS)
        self.assertFalse(Path(process["socketPath"]).exists(), "its /tmp is not private")

    def test_with_users_of_its_own(self) -> None:
        """It takes all but root and itself for nobody; its uid is the same outside."""
        user = guest.add_user("alone")
        process = self.ready(guest.dotnet_service("alone", User="alone", PrivateUsers="yes"))
        self.assertEqual((process["uid"], process["gid"]), (user.pw_uid, user.pw_gid))
        self.assertNotEqual(os.readlink(f"/proc/{process['pid']}/ns/user"),
                            os.readlink("/proc/self/ns/user"))

    def test_two_in_one_private_tmp_have_each_their_own_socket(self) -> None:
        first = self.ready(guest.dotnet_service("first", PrivateTmp="yes"))
        second = guest.dotnet_service("second", PrivateTmp="yes")
        guest.drop_in(second.unit, "[Unit]\nJoinsNamespaceOf=first.service\n")
        told = self.ready(second)
        self.assertNotEqual(told["socketPath"], first["socketPath"])
        self.assertTrue(Path(f"/proc/{first['pid']}/root{told['socketPath']}").is_socket())

    def test_without_network_and_with_little_of_proc(self) -> None:
        self.ready(guest.dotnet_service("hidden", PrivateNetwork="yes", ProtectProc="invisible",
                                        ProcSubset="pid", DynamicUser="yes"))

    def test_in_a_pid_namespace(self) -> None:
        version = int(re.match(r"systemd (\d+)", guest.systemctl("--version"))[1])
        require(version >= 257, "systemd has no PrivatePIDs= before 257")
        # A pid 1 dies of no signal that others die of, and keeps a shutdown waiting.
        service = guest.dotnet_service("pids", PrivatePIDs="yes", KillSignal="SIGKILL")
        self.addCleanup(service.stop)
        process = self.ready(service)
        self.assertEqual(process["namespacePid"], 1)

    def test_in_a_control_group_that_it_made_itself_it_is_its_units(self) -> None:
        service = guest.dotnet_service("delegated", Delegate="yes")
        group = "/sys/fs/cgroup/system.slice/delegated.service/sub"
        guest.drop_in(service.unit, "[Service]\nExecStart=\nExecStart=/bin/sh -c '"
                      f"mkdir {group} && echo $$$$ >{group}/cgroup.procs && exec {guest.APP}'\n")
        process = self.ready(service)
        self.assertRegex(process["cgroup"], r"/delegated\.service/sub$")

    def test_of_a_template_its_name_is_told_as_systemd_writes_it(self) -> None:
        process = self.ready(guest.dotnet_service("some@a-b"))
        self.assertEqual(process["unit"], "some@a-b.service")
        self.assertIn("system-some.slice", process["cgroup"])


class OfAUser(guest.Scenario):
    """A user who lingers has services, and nobody is logged in."""

    def test_its_unit_is_told_beside_the_one_of_its_manager(self) -> None:
        user = guest.add_user("lingerer")
        Path("/home/lingerer").mkdir()
        # Of that user's manager, as its unit would be. pam_systemd would set that variable.
        service = guest.dotnet_service("own")
        units = Path("/etc/systemd/user")
        (units / "default.target.wants").mkdir(parents=True)
        for name in (service.unit, "own-stdin.socket"):
            text = (Path("/") / guest.UNITS / name).read_text()
            (units / name).write_text(text.replace("/run/own.stdin", "%t/own.stdin"))
        (units / "default.target.wants" / service.unit).symlink_to(f"../{service.unit}")
        guest.drop_in("user@.service", "[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n")
        subscription = self.subscribe()
        guest.run("loginctl", "enable-linger", "lingerer")
        process = subscription.wait_for(
            lambda event: event.process is not None and event.process["state"] == "ready"
            and event.process["uid"] == user.pw_uid).process
        self.assertEqual(process["unit"], f"user@{user.pw_uid}.service")
        self.assertEqual(process["userUnit"], "own.service")
        self.assertTrue(process["cgroup"].endswith(
            f"/user@{user.pw_uid}.service/app.slice/own.service"), process["cgroup"])
        self.assertIn("own.service", guest.ctl("show", str(process["pid"])))
