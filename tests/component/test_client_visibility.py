# SPDX-License-Identifier: MIT
"""Who sees what: a user its own processes, root and the group all of them."""

import grp
import os
import subprocess
import tempfile
from pathlib import Path

from lib.client_test import ClientTest
from lib.require import require_bpf, require_root, require_tool
from lib.users import GROUP, NOBODY, PRIVATE_GROUPS
from lib.varlink import INTERFACE, Client, VarlinkError

OTHER = 61234  # uids that nobody else on the machine has
THIRD = 61235
GONE = 5_000_000  # no pid


class VisibilityTest(ClientTest):
    """Processes of several users: pids by uid."""

    def setUp(self) -> None:
        require_root()
        require_bpf()
        super().setUp()
        self.owner = self.fakes()
        self.pids = {uid: self.spawn(uid) for uid in (0, NOBODY, OTHER)}

    def spawn(self, uid: int) -> list[int]:
        """Two processes of this user, ready."""
        pids = self.owner.spawn(2, uid=uid)
        for pid in pids:
            process = self.watcher.wait_state(pid, "ready")
            self.assertEqual((process["uid"], process["gid"]), (uid, uid))
        return pids

    def assert_unknown(self, client: Client, method: str, pid: int) -> None:
        """To this client there is no such process."""
        with self.assertRaises(VarlinkError) as caught:
            client.call(method, pid=pid)
        self.assertEqual((caught.exception.name, caught.exception.parameters),
                         (f"{INTERFACE}.NoSuchProcess", {"pid": pid}))

    def assert_sees_all(self, client: Client) -> None:
        """List, Get and Check know of every user's processes."""
        ours = {pid for pids in self.pids.values() for pid in pids}
        listed = {process["pid"] for process in client.call("List")["processes"]}
        self.assertLessEqual(ours, listed)
        for pid in ours:
            self.assertEqual(client.call("Get", pid=pid)["process"]["pid"], pid)
            self.assertTrue(all(item["ok"] for item in client.call("Check", pid=pid)["items"]))


class OneUser(VisibilityTest):

    def test_lists_have_its_own_processes_and_no_others(self) -> None:
        client = self.client_as()
        for listed in (client.call("List")["processes"],
                       [process for page in client.stream("List") for process in page["processes"]],
                       client.call("List", filter={"uid": NOBODY})["processes"]):
            self.assertEqual({process["uid"] for process in listed}, {NOBODY})
            self.assertLessEqual(set(self.pids[NOBODY]), {process["pid"] for process in listed})
        for filtered in ({"uid": 0}, {"uid": OTHER}, {"pid": self.pids[0][0]}):
            self.assertEqual(client.call("List", filter=filtered)["processes"], [])

    def test_a_process_of_somebody_else_is_no_process_at_all(self) -> None:
        client = self.client_as()
        for method in ("Get", "Check"):
            for pid in (*self.pids[0], *self.pids[OTHER], 1, os.getpid(), GONE):
                self.assert_unknown(client, method, pid)

    def test_its_own_it_may_get_and_check(self) -> None:
        client = self.client_as()
        for pid in self.pids[NOBODY]:
            self.assertEqual(client.call("Get", pid=pid), self.bystander.call("Get", pid=pid))
            items = client.call("Check", pid=pid)["items"]
            self.assertEqual(items, self.bystander.call("Check", pid=pid)["items"])
            self.assertTrue(all(item["ok"] for item in items), items)

    def test_its_own_that_is_no_dotnet_process_it_may_check(self) -> None:
        with subprocess.Popen(["cat"], user=NOBODY, group=NOBODY, extra_groups=[],
                              stdin=subprocess.PIPE) as process:
            items = self.client_as().call("Check", pid=process.pid)["items"]
            self.assertFalse(all(item["ok"] for item in items))
            self.assert_unknown(self.client_as(uid=OTHER), "Check", process.pid)

    def test_counts_are_of_what_it_sees(self) -> None:
        def counts(client: Client) -> dict[str, int]:
            return {counter["name"]: counter["value"]
                    for counter in client.call("Status")["processes"]}

        nothing = {"detected": 0, "ready": 0, "unreachable": 0}
        self.assertEqual(counts(self.client_as(uid=OTHER)), nothing | {"ready": 2})
        self.assertEqual(counts(self.client_as(uid=THIRD)), nothing)
        silent = self.owner.spawn_one(uid=THIRD, answers=False)
        self.watcher.wait_state(silent, "unreachable")
        self.assertEqual(counts(self.client_as(uid=THIRD)), nothing | {"unreachable": 1})
        self.assertGreaterEqual(counts(self.bystander)["ready"], 6)

    def test_a_subscriber_is_told_of_its_own_only(self) -> None:
        subscription = self.subscribe_as()
        self.assertLessEqual(set(self.pids[NOBODY]), subscription.alive().keys())
        foreign = [*self.pids[0], *self.pids[OTHER], *self.spawn(0), *self.spawn(OTHER)]
        self.owner.end(*foreign)
        for pid in foreign:
            self.watcher.wait_state(pid, "gone")
        last, = self.spawn(NOBODY)[-1:]
        subscription.wait_state(last, "ready")
        self.owner.end(last)
        subscription.wait_state(last, "gone")
        self.assertEqual({event.process.get("uid") for event in subscription.log if event.process},
                         {NOBODY})

    def test_a_process_that_becomes_another_users_is_told_gone_and_no_more(self) -> None:
        subscription = self.subscribe_as()
        pid = self.owner.spawn_one(mapping_uid=NOBODY, answers=False)
        self.assertEqual(subscription.wait_state(pid, "detected")["uid"], NOBODY)
        self.owner.release(pid)
        self.assertEqual(self.watcher.wait_state(pid, "ready")["uid"], 0)
        gone = subscription.wait_state(pid, "gone")
        self.assertFalse(gone.keys() & {"uid", "gid", "executable", "arguments", "entryAssembly"})
        self.assert_unknown(self.client_as(), "Get", pid)
        self.owner.end(pid)
        self.watcher.wait_state(pid, "gone")
        last, = self.spawn(NOBODY)[-1:]
        subscription.wait_state(last, "ready")
        self.assertEqual(subscription.states(pid), ["detected", "gone"])

    def test_root_sees_all(self) -> None:
        self.assert_sees_all(self.client())

    def test_without_the_group_there_is_nobody_else_who_does(self) -> None:
        try:
            gid = grp.getgrnam(GROUP).gr_gid
        except KeyError:
            gid = 0  # root's group is not root
            self.assertIn(f"no group {GROUP}", str(self.bystander.call("Check")))
        else:
            gid += 1
        self.assert_unknown(self.client_as(gid=gid, groups=[gid]), "Get", self.pids[0][0])


class Group(VisibilityTest):
    """A daemon on a machine that has the group."""

    @classmethod
    def setUpClass(cls) -> None:
        require_root()
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="discovery-")))
        try:
            cls.gid = grp.getgrnam(GROUP).gr_gid
        except KeyError:
            cls.gid = 61236
            groups = folder / "group"
            groups.write_text(Path("/etc/group").read_text() + f"{GROUP}:x:{cls.gid}:\n")
            cls.WRAPPER = [require_tool("unshare"), "--mount", "--propagation=private",
                           "sh", "-c", PRIVATE_GROUPS, str(groups)]
        super().setUpClass()

    def test_members_see_all_by_any_of_their_groups(self) -> None:
        for groups in ({"groups": [self.gid]}, {"gid": self.gid},
                       {"groups": [1, *range(70000, 70050), self.gid]}):
            with self.subTest(**groups):
                self.assert_sees_all(self.client_as(**groups))

    def test_members_are_told_of_all(self) -> None:
        subscription = self.subscribe_as(groups=[self.gid])
        for uid in (0, NOBODY, OTHER):
            for pid in self.spawn(uid):
                self.assertEqual(subscription.wait_state(pid, "ready")["uid"], uid)

    def test_others_do_not(self) -> None:
        client = self.client_as(gid=self.gid + 1, groups=[self.gid + 1, self.gid - 1])
        self.assert_unknown(client, "Get", self.pids[0][0])
        self.assertEqual({process["uid"] for process in client.call("List")["processes"]}, {NOBODY})
