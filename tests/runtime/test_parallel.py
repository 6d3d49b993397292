# SPDX-License-Identifier: MIT
"""Many programs that start and end at once: none is lost, none is told twice."""

import unittest
from contextlib import ExitStack

from lib.daemon import Daemon
from lib.require import require_bpf
from lib.subscription import Subscription
from programs import Sample

COUNT = 50


class FiftyStarts(unittest.TestCase):
    """Order, loss and duplicates within one subscription are checked when its daemon ends."""

    def setUp(self) -> None:
        require_bpf()
        self.daemon = self.enterContext(Daemon())
        self.samples = self.enterContext(ExitStack())

    def start(self, count: int) -> list[Sample]:
        return [self.samples.enter_context(Sample("native-aot")) for _ in range(count)]

    def wait_all(self, subscription: Subscription, samples: list[Sample], state: str) -> None:
        for sample in samples:
            subscription.wait_state(sample.pid, state)

    def test_fifty_started_at_once_are_told_ready_and_gone_each_once_and_in_order(self) -> None:
        subscription = self.daemon.subscribe()
        samples = self.start(COUNT)
        self.wait_all(subscription, samples, "ready")
        for sample in samples:
            sample.process.stdin.close()  # all of them, before the first is waited for
        self.wait_all(subscription, samples, "gone")
        for sample in samples:
            self.assertEqual(sample.wait(), 0)
            self.assertEqual(subscription.states(sample.pid)[-2:], ["ready", "gone"])
            self.assertEqual(len({event.process["id"] for event in subscription.of(sample.pid)}), 1)

    def test_fifty_killed_at_once_are_told_gone(self) -> None:
        subscription = self.daemon.subscribe()
        samples = self.start(COUNT)
        self.wait_all(subscription, samples, "ready")
        for sample in samples:
            sample.kill()
        self.wait_all(subscription, samples, "gone")

    def test_a_subscriber_from_before_and_one_amid_the_starts_end_with_the_same_truth(self) -> None:
        early = self.daemon.subscribe()
        samples = self.start(COUNT // 2)
        early.wait_state(samples[0].pid, "ready")
        late = self.daemon.subscribe()
        samples += self.start(COUNT // 2)
        for subscription in (early, late):
            self.wait_all(subscription, samples, "ready")

        pids = [sample.pid for sample in samples]
        truth = {process["pid"]: process for process in self.daemon.call("List")["processes"]
                 if process["pid"] in pids}
        self.assertEqual(sorted(truth), sorted(pids))
        self.assertEqual(early.alive(*pids), truth)
        self.assertEqual(late.alive(*pids), truth)

        for sample in samples:
            sample.process.stdin.close()
        for subscription in (early, late):
            self.wait_all(subscription, samples, "gone")
            self.assertEqual(subscription.alive(*pids), {})
