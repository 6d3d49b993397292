# SPDX-License-Identifier: MIT
"""Filters: which processes each selects, and what a subscriber is told of one that begins or ceases
to match.
"""

from typing import Any

from lib.client_test import ClientTest
from lib.fakes import cgroup
from lib.require import require_bpf, require_root
from lib.varlink import Client

USER = 61240  # a uid that nobody else on the machine has
CONTAINER = "0123456789abcdef" * 4


class FilterTest(ClientTest):

    def setUp(self) -> None:
        require_bpf()
        super().setUp()

    def assert_selects(self, pids: set[int], among: set[int], **fields: Any) -> None:
        """List, in one reply and in pages, and Subscribe select these, of those that are ours."""
        client = self.client()
        whole = client.call("List", filter=fields)["processes"]
        paged = [process for page in client.stream("List", filter=fields)
                 for process in page["processes"]]
        told = self.subscribe(**fields).alive().values()
        for processes in (whole, paged, told):
            self.assertEqual({process["pid"] for process in processes} & among, pids, fields)


class Fields(FilterTest):

    def test_each_field_selects_by_what_is_shown(self) -> None:
        require_root()
        fakes = self.fakes()
        a = fakes.spawn_one(command="alpha", assembly="Alpha.App", version="8.0.1")
        b = fakes.spawn_one(command="beta\x1b[1m", assembly="Beta\\App\u00fc", version="10.0.5")
        c = fakes.spawn_one(uid=USER, command="gamma*", assembly="Gamma\nApp", version="10.0.50")
        silent = fakes.spawn_one(command="alpha-mute", answers=False)
        among = {a, b, c, silent}
        for pid in (a, b, c):
            self.watcher.wait_state(pid, "ready")
        self.watcher.wait_state(silent, "unreachable")

        cases: list[tuple[set[int], dict[str, Any]]] = [
            (among, {}),
            ({a}, {"pid": a}),
            (set(), {"pid": 5_000_000}),
            ({c}, {"uid": USER}),
            ({a, b, silent}, {"uid": 0}),
            ({a, b, c}, {"state": "ready"}),
            ({silent}, {"state": "unreachable"}),
            (set(), {"state": "detected"}),
            (set(), {"state": "gone"}),
            ({a}, {"command": "alpha"}),
            ({a, silent}, {"command": "alpha*"}),
            ({a, silent}, {"command": "[a]?pha*"}),
            ({b}, {"command": r"beta\\x1b\[1m"}),
            ({b}, {"command": "b*x1b*"}),
            (set(), {"command": "beta\x1b*"}),
            ({c}, {"command": r"gamma\*"}),
            ({c}, {"command": "gamma*"}),
            (set(), {"command": r"alpha\*"}),
            (set(), {"command": "Alpha"}),
            ({a}, {"entryAssembly": "Alpha.App"}),
            ({a}, {"entryAssembly": "Alpha*App"}),
            ({b}, {"entryAssembly": r"Beta\\\\App?"}),
            ({b}, {"entryAssembly": "*\u00fc"}),
            ({c}, {"entryAssembly": r"Gamma\\x0aApp"}),
            ({a, b, c}, {"entryAssembly": "*"}),
            ({b}, {"runtimeVersion": "10.0.5"}),
            ({b, c}, {"runtimeVersion": "10.*"}),
            ({a}, {"runtimeVersion": "[6-9].*"}),
            ({b}, {"runtimeVersion": "10.*", "uid": 0}),
            ({a}, {"command": "alpha*", "state": "ready", "uid": 0, "pid": a}),
            (set(), {"command": "alpha*", "entryAssembly": "Beta*"}),
            (set(), {"unit": "no-such-*"}),
            (set(), {"containerId": "no-such-*"}),
        ]
        for pids, fields in cases:
            with self.subTest(**fields):
                self.assert_selects(pids, among, **fields)

    def test_units_and_containers(self) -> None:
        require_root()
        with (cgroup("discovery-test.service") as service,
              cgroup(f"docker-{CONTAINER}.scope") as container):
            self.check_units(service, container)

    def check_units(self, service: Any, container: Any) -> None:
        """With the files that put a process into each."""
        with self.fakes() as fakes:
            a, b = fakes.spawn_one(cgroups=service), fakes.spawn_one(cgroups=container)
            self.assertEqual(self.watcher.wait_state(a, "ready")["unit"], "discovery-test.service")
            process = self.watcher.wait_state(b, "ready")
            self.assertEqual((process["unit"], process["containerId"]),
                             (f"docker-{CONTAINER}.scope", CONTAINER))
            for pids, fields in (
                    ({a}, {"unit": "discovery-test.service"}), ({a}, {"unit": "discovery-t*"}),
                    ({b}, {"containerId": CONTAINER}), ({b}, {"containerId": "0123*"}),
                    ({b}, {"unit": "docker-*.scope", "containerId": "*"}),
                    ({a, b}, {"unit": "*"}), (set(), {"unit": "discovery", "containerId": "*"})):
                with self.subTest(**fields):
                    self.assert_selects(pids, {a, b}, **fields)
            fakes.end(a, b)
            self.watcher.wait_state(b, "gone")

    def test_a_glob_is_tried_on_whole_characters_of_the_front(self) -> None:
        pid = self.fakes().spawn_one(assembly="x" + "\u00fc" * 1000)
        self.watcher.wait_state(pid, "ready")
        for pattern in ("x*\u00fc", "x" + "?" * 200 + "*", "x[\u00fb-\u00fd]*"):
            self.assert_selects({pid}, {pid}, entryAssembly=pattern)

    def test_a_glob_that_takes_long_delays_nobody_for_long(self) -> None:
        pids = self.fakes().spawn(50, assembly="a" * 1200)
        for pid in pids:
            self.watcher.wait_state(pid, "ready")
        slow = [self.client() for _ in range(4)]
        for client in slow:
            client.send("List", {"filter": {"entryAssembly": "*a" * 127 + "b"}}, more=True)
        self.bystander.call("Status")
        for client in slow:
            while (message := client.recv_message()).get("continues"):
                self.assertEqual(message["parameters"]["processes"], [])


class Transitions(FilterTest):
    """A subscriber never holds an entry that is not so."""

    def states(self, log: Any, pid: int) -> list[tuple[str, str | None]]:
        """State and previous state of each event about a process."""
        return [(event.process["state"], event.previous) for event in log.of(pid)]

    def test_what_leaves_a_filter_is_told_once_and_then_no_more(self) -> None:
        fakes = self.fakes()
        detected = self.subscribe(state="detected")
        ready = self.subscribe(state="ready")
        pid = fakes.spawn_one(answers=False)
        detected.wait_state(pid, "detected")
        fakes.release(pid)
        self.assertEqual(ready.wait_state(pid, "ready"), self.watcher.wait_state(pid, "ready"))
        self.assertEqual(detected.wait_state(pid, "ready"), ready.wait_state(pid, "ready"))
        fakes.end(pid)
        ready.wait_state(pid, "gone")
        marker = fakes.spawn_one()
        detected.wait_state(marker, "ready")

        self.assertEqual(self.states(detected, pid), [("detected", None), ("ready", "detected")])
        self.assertEqual(self.states(ready, pid), [("ready", None), ("gone", "ready")])
        self.assertEqual(self.states(self.watcher, pid),
                         [("detected", None), ("ready", "detected"), ("gone", "ready")])

    def test_what_comes_into_a_filter_is_new_to_its_subscriber(self) -> None:
        fakes = self.fakes()
        unreachable = self.subscribe(state="unreachable")
        by_name = self.subscribe(entryAssembly=fakes.assembly)
        gone = self.client().stream("Subscribe", filter={"state": "gone"})
        self.assertEqual([next(gone)["kind"], next(gone)["kind"]], ["snapshot", "synced"])
        pid = fakes.spawn_one(answers=False)
        process = unreachable.wait_state(pid, "unreachable")
        self.assertEqual(process["reason"], "timeout")
        fakes.release(pid)
        unreachable.wait_state(pid, "ready")
        fakes.end(pid)
        by_name.wait_state(pid, "gone")
        last = next(reply for reply in gone if reply["process"]["pid"] == pid)
        self.assertEqual(last["process"]["state"], "gone")
        self.assertNotIn("previousState", last)

        self.assertEqual(self.states(unreachable, pid),
                         [("unreachable", None), ("ready", "unreachable")])
        self.assertEqual(self.states(by_name, pid), [("ready", None), ("gone", "ready")])

    def test_a_snapshot_begins_where_a_change_goes_on(self) -> None:
        fakes = self.fakes()
        pid = fakes.spawn_one(answers=False)
        self.watcher.wait_state(pid, "detected")
        client: Client = self.client()
        stream = client.stream("Subscribe", filter={"pid": pid})
        first, second = next(stream), next(stream)
        self.assertEqual([process["state"] for process in first["processes"]], ["detected"])
        self.assertEqual((first["kind"], second["kind"]), ("snapshot", "synced"))
        fakes.release(pid)
        change = next(stream)
        self.assertEqual((change["kind"], change["process"]["state"], change["previousState"]),
                         ("changed", "ready", "detected"))
        self.assertEqual(change["sequence"], change["process"]["sequence"])
        self.assertGreater(change["sequence"], second["sequence"])
        fakes.end(pid)
        self.assertEqual(next(stream)["previousState"], "ready")

    def test_an_empty_snapshot_is_one_page_all_the_same(self) -> None:
        stream = self.client().stream("Subscribe", filter={"pid": 5_000_000})
        self.assertEqual(next(stream), {"kind": "snapshot", "processes": [],
                                        "sequence": next(stream)["sequence"]})
