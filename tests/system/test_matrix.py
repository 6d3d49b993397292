# SPDX-License-Identifier: MIT
"""Every runtime as a unit with PrivateTmp=, started before the daemon and after it."""

import unittest
from pathlib import Path
from typing import Any

import guest
from guest import DotnetService
from lib import matrix
from lib.built import built
from lib.matrix import CellsWithServers
from lib.subscription import Process, Subscription


def tearDownModule() -> None:
    matrix.TABLE.print()


class Units(CellsWithServers):
    """All of them at once."""

    place = "PrivateTmp="

    @classmethod
    def setUpClass(cls) -> None:
        cls.services: dict[str, DotnetService] = {}
        cls.missing: dict[str, unittest.SkipTest] = {}
        cls.subscription = cls.subscribe()
        for name in cls.names:
            service = DotnetService(name, {"PrivateTmp": "yes"}, name)
            try:
                service.write()
            except unittest.SkipTest as reason:
                cls.missing[name] = reason
                continue
            cls.services[name] = service
        guest.systemctl("daemon-reload")
        cls.pids = {name: service.start() for name, service in cls.services.items()}

    @classmethod
    def subscribe(cls) -> Subscription:
        subscription = Subscription(guest.STATUS_SOCKET, {})
        cls.addClassCleanup(subscription.check)
        cls.addClassCleanup(subscription.close)
        return subscription

    def process(self, name: str) -> tuple[Process, dict[str, Any]]:
        if name in self.missing:
            raise self.missing[name]
        pid = self.pids[name]
        self.subscription.wait_state(pid, "ready")
        process = guest.call("Get", pid=pid)["process"]
        self.assertEqual(process["unit"], self.services[name].unit)
        self.assertEqual(Path(process["socketPath"]).parent, Path("/tmp"))
        self.assertFalse(Path(process["socketPath"]).exists())
        self.assertTrue(Path(process["hostSocketPath"]).is_socket())
        return process, built(guest.SAMPLES, name)

    def end(self, name: str) -> None:
        self.services[name].stop()
        self.subscription.wait_state(self.pids[name], "gone")


class Before(Units, guest.Scenario):
    """Found by the scan."""

    when = "before"
    signals = ("scan",)

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for pid in cls.pids.values():
            cls.subscription.wait_state(pid, "ready")
        guest.systemctl("restart", guest.SERVICE)
        cls.subscription = cls.subscribe()


class After(Units, guest.Scenario):
    """Told of by the kernel."""

    when = "after"
    signals = ("listen", "mapping")
