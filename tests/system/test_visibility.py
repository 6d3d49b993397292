# SPDX-License-Identifier: MIT
"""Who is shown what, on every way there is: root and the group all, others their own."""

import json
import os
import pwd
import re
import socket
import subprocess
from typing import Any

import guest
from lib.bus import MANAGER, NAME, BusError
from lib.child import Child
from lib.fakes import Fakes
from lib.subscription import Subscription
from lib.users import connect_as
from lib.varlink import INTERFACE, Client, VarlinkError
from system_bus import BUS, Monitor

BARRIER = "org.example.Barrier"


def connect(user: str) -> socket.socket:
    """A connection of this user, who has just logged in: with the groups that it has now."""
    entry = pwd.getpwnam(user)
    groups = os.getgrouplist(user, entry.pw_gid)
    return connect_as(guest.STATUS_SOCKET, uid=entry.pw_uid, gid=entry.pw_gid, groups=groups)[0]


class Broad:
    """What the bus delivers to a user who asks it for every signal there is."""

    def __init__(self, user: str):
        self._child: Child = guest.spawn("dbus-monitor", "--system", "--profile", "type='signal'",
                                         user=user, stderr=subprocess.DEVNULL)

    def __enter__(self) -> "Broad":
        # It has subscribed to all before it looks at what was sent to it alone.
        self._read_until("org.freedesktop.DBus", "NameAcquired")
        return self

    def __exit__(self, *failure: object) -> None:
        self._child.__exit__(*failure)

    def until_barrier(self) -> list[str]:
        """The interfaces of the signals that were delivered before one that everybody gets."""
        guest.run("busctl", "emit", "/org/example", BARRIER, "Reached")
        return self._read_until(BARRIER, "Reached")

    def _read_until(self, interface: str, member: str) -> list[str]:
        interfaces = []
        while True:
            line = self._child.read_line().split("\t")
            if line[-2:] == [interface, member]:
                return interfaces
            interfaces.append(line[-2])


class Visibility(guest.Scenario):
    """A machine that several people share. Processes run as root, as alice and as carol; bob is a
    member of the group, and has none.
    """

    owner: Fakes
    pids: dict[str, int]

    @classmethod
    def setUpClass(cls) -> None:
        for user in ("alice", "carol"):
            guest.add_user(user)
        guest.add_user("bob", guest.GROUP)
        cls.owner = cls.enterClassContext(Fakes())
        cls.pids = {user: cls.owner.spawn_one(uid=pwd.getpwnam(user).pw_uid)
                    for user in ("root", "alice", "carol")}
        for pid in cls.pids.values():
            guest.ctl("wait", f"pid={pid}", "--timeout=20s")

    def subscribe_as(self, user: str) -> Subscription:
        """A subscriber that is this user, with its snapshot."""
        subscription = Subscription(connect(user), {})
        self.addCleanup(subscription.check)
        self.addCleanup(subscription.close)
        subscription.wait_synced()
        return subscription

    def listed(self, user: str) -> dict[str, set[int]]:
        """What each way of asking shows to this user."""
        with Client(connect(user)) as client:
            listed = {"List": client.call("List")["processes"]}
            listed["List with more"] = [process for page in client.stream("List")
                                        for process in page["processes"]]
        listed["Subscribe"] = list(self.subscribe_as(user).alive().values())
        shown = guest.ctl("list", "--json=short", user=user)
        listed["dotnet-discoveryctl"] = json.loads(shown)["processes"]
        ways = {way: {process["pid"] for process in found} for way, found in listed.items()}
        return ways | {"ListProcesses": BUS.processes(user)}

    def counted(self, user: str) -> dict[str, int]:
        """How many processes each way of asking says are ready."""
        with Client(connect(user)) as client:
            status = client.call("Status")
        shown = json.loads(guest.ctl("status", "--json=short", user=user))
        ways = {"Status": status, "dotnet-discoveryctl": shown}
        counts = {way: next(count["value"] for count in found["processes"]
                            if count["name"] == "ready")
                  for way, found in ways.items()}
        return counts | {"GetStatus": BUS.status(user)["Processes"]["ready"],
                         "ReadyCount": BUS.property("ReadyCount", user)}

    def assert_sees(self, user: str, *owners: str) -> None:
        """The processes of these owners, and to this user there are no others."""
        visible = {self.pids[owner] for owner in owners}
        for way, pids in self.listed(user).items():
            self.assertEqual(pids, visible, way)
        for way, count in self.counted(user).items():
            self.assertEqual(count, len(visible), way)
        for pid in self.pids.values():
            with self.subTest(user=user, pid=pid):
                if pid in visible:
                    self.assert_known(user, pid)
                else:
                    self.assert_unknown(user, pid)

    def assert_known(self, user: str, pid: int) -> None:
        """Whoever asks about this one process is told."""
        with Client(connect(user)) as client:
            self.assertEqual(client.call("Get", pid=pid)["process"]["pid"], pid)
            self.assertTrue(all(item["ok"] for item in client.call("Check", pid=pid)["items"]))
        self.assertEqual(json.loads(guest.ctl("show", str(pid), "--json=short", user=user))["pid"],
                         pid)
        self.assertEqual(BUS.call("GetProcess", "u", str(pid), user=user)[0]["Pid"], pid)

    def assert_unknown(self, user: str, pid: int) -> None:
        """Whoever asks about it hears what is said of a process that there is not."""
        with Client(connect(user)) as client:
            for method in ("Get", "Check"):
                with self.assertRaises(VarlinkError) as caught:
                    client.call(method, pid=pid)
                self.assertEqual((caught.exception.name, caught.exception.parameters),
                                 (f"{INTERFACE}.NoSuchProcess", {"pid": pid}))
        # One that nobody has: they are given out one after another.
        self.assertEqual(self.refusal(user, pid), self.refusal(user, os.getpid() + 30_000))

    def refusal(self, user: str, pid: int) -> str:
        """What the client program and the bus say of a process, its pid left out."""
        said: list[Any] = []
        for command in ("show", "check"):
            result = guest.run("dotnet-discoveryctl", command, str(pid), user=user, check=False)
            said.append((result.returncode, result.stdout, result.stderr))
        said.append(BUS.error("GetProcess", str(pid), user=user))
        self.assertIn(f"{NAME}.NoSuchProcess", said[-1])
        return re.sub(rf"\b{pid}\b", "PID", str(said))

    def test_others_see_their_own(self) -> None:
        self.assert_sees("alice", "alice")
        self.assert_sees("carol", "carol")

    def test_the_unit_tells_nobody_how_many_there_are(self) -> None:
        """Everybody can read what a service says of itself."""
        self.assertEqual(guest.show(guest.SERVICE, "StatusText"),
                         f"Watching by {guest.call('Status')['mechanism']}.")

    def test_root_and_members_see_all(self) -> None:
        self.assert_sees("root", *self.pids)
        self.assert_sees("bob", *self.pids)

    def test_subscribers_are_told_of_the_same(self) -> None:
        members, alices = self.subscribe_as("bob"), self.subscribe_as("alice")
        others, own = (self.owner.spawn_one(uid=pwd.getpwnam(user).pw_uid)
                       for user in ("root", "alice"))
        for subscription, pids in ((members, (others, own)), (alices, (own,))):
            for pid in pids:
                subscription.wait_state(pid, "ready")
        self.owner.end(others, own)
        for pid in (others, own):
            members.wait_state(pid, "gone")
        alices.wait_state(own, "gone")
        self.assertEqual(alices.of(others), [])

    def test_signals_reach_root_and_members_alone(self) -> None:
        with (Monitor() as roots, Monitor(user="bob") as members,
              Monitor(user="alice") as others, Broad("bob") as bobs, Broad("alice") as alices):
            # Not even those of its own processes: the bus cannot tell them apart.
            pid = self.owner.spawn_one(uid=pwd.getpwnam("alice").pw_uid)
            for monitor in (roots, members):
                self.assertEqual(monitor.wait_signal(pid, "ready").pid, pid)
            self.owner.end(pid)
            for monitor in (roots, members):
                monitor.wait_signal(pid, "gone")
            # All of this the bus has dealt with before what it delivers now.
            self.assertIn(MANAGER, bobs.until_barrier())
            self.assertNotIn(MANAGER, alices.until_barrier())
            guest.systemctl("restart", guest.SERVICE)
            others.wait_no_owner()
        self.assertEqual(others.signals, [])

    def test_others_cannot_listen_to_what_is_sent_to_others(self) -> None:
        with self.assertRaisesRegex(BusError, "Access denied"):
            BUS.run("busctl", "monitor", NAME, user="alice")

    def test_who_joins_the_group_sees_all_from_the_next_login_on(self) -> None:
        guest.add_user("dave")
        with Client(connect("dave")) as before, Broad("dave") as deaf:
            guest.run("usermod", "--append", "--groups", guest.GROUP, "dave")
            with Client(connect("dave")) as after, Broad("dave") as hears:
                self.assertEqual(before.call("List")["processes"], [])
                self.assertEqual({process["pid"] for process in after.call("List")["processes"]},
                                 set(self.pids.values()))
                with Monitor() as monitor:
                    pid = self.owner.spawn_one()
                    monitor.wait_signal(pid, "ready")
                    self.owner.end(pid)
                    monitor.wait_signal(pid, "gone")
                self.assertNotIn(MANAGER, deaf.until_barrier())
                self.assertIn(MANAGER, hears.until_barrier())
        self.assert_sees("dave", *self.pids)
