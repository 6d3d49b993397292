# SPDX-License-Identifier: MIT
"""What every test of the bus has around it: a bus, and the daemon on it."""

import time

from lib.bus import Bus
from lib.client_test import ClientTest
from lib.require import require_bpf, require_root
from lib.users import NOBODY
from lib.varlink import TIMEOUT


class BusTest(ClientTest):
    """A bus for a class, and a daemon that has its name."""

    POLICY = True
    bus: Bus

    @classmethod
    def setUpClass(cls) -> None:
        require_root()
        require_bpf()
        cls.bus = cls.enterClassContext(Bus(cls.POLICY))
        cls.ENVIRONMENT = cls.bus.env
        cls.WRAPPER = cls.bus.wrapper
        cls.start_bus()
        super().setUpClass()
        cls.wait_bus()

    @classmethod
    def start_bus(cls) -> None:
        """What is done before the daemon starts."""
        cls.bus.start()

    @classmethod
    def wait_bus(cls) -> None:
        """What is waited for afterwards."""
        cls.bus.wait_name()

    def spawn(self, uid: int = NOBODY) -> int:
        """A process of this user, ready; the bus has been told, too."""
        pid = self.fakes_of_test.spawn_one(uid=uid)
        self.watcher.wait_state(pid, "ready")
        self.bystander.call("Status")  # answered in a later turn than that which told both
        return pid

    def setUp(self) -> None:
        super().setUp()
        self.fakes_of_test = self.fakes()

    def wait_log(self, text: str) -> None:
        """Returns when the daemon has written this."""
        deadline = time.monotonic() + TIMEOUT
        while text not in self.daemon.stderr:
            self.assertLess(time.monotonic(), deadline, f"the daemon does not say: {text}")
