# SPDX-License-Identifier: MIT
"""The daemon is restarted under a profiler that is subscribed to it."""

import os
from pathlib import Path

import guest

GATE = Path("/run/gate")
HELD_BACK = f"[Service]\nExecStartPre=/bin/sh -c 'read line < {GATE}'\n"


class Restart(guest.Scenario):
    """A profiler follows three services. Somebody restarts the daemon: the profiler's connection
    ends, and it connects anew at once, while there is no daemon. It is neither refused nor dropped:
    it waits in the socket's queue. Meanwhile one service ends and another begins. When the daemon
    is back, the profiler is told the truth as it is then, and every change from there on.
    """

    def test_a_subscriber_waits_at_the_socket_and_misses_nothing(self) -> None:
        stays, ends, begins = map(guest.dotnet_service, ("stays", "ends", "begins"))
        before = self.subscribe()
        for service in (stays, ends):
            service.start()
            before.wait_state(service.pid, "ready")
        ended = ends.pid

        # The new daemon is held back until a line comes through the gate.
        os.mkfifo(GATE)
        guest.drop_in(guest.SERVICE, HELD_BACK)
        guest.systemctl("restart", "--no-block", guest.SERVICE)
        before.wait_ended()
        after = self.subscribe()
        with GATE.open("w") as gate:  # as soon as something waits behind it; the guest's deadline
            ends.stop()
            begins.start()
            self.assertEqual(guest.show(guest.SERVICE, "ActiveState"), "activating")
            self.assertIsNone(after.ended)
            gate.write("go\n")

        for service in (stays, begins):
            after.wait_state(service.pid, "ready")
        after.wait_synced()
        self.assertEqual(after.of(ended), [])
        self.assertEqual(set(after.alive()), {stays.pid, begins.pid})

        stopped = stays.pid
        stays.stop()
        after.wait_state(stopped, "gone")
        ends.start()
        after.wait_state(ends.pid, "ready")
        self.assertEqual(after.alive(), guest.processes())
        self.assertEqual(set(after.alive()), {begins.pid, ends.pid})
