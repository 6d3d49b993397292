# SPDX-License-Identifier: MIT
"""An administrator adds a directive that looks harmless and takes a system call away."""

import guest


class NotAsked(guest.Scenario):
    """RestrictSUIDSGID= blocks openat2(2), by which the daemon follows no link of a process.

    It cannot ask any process then. That is no fault of the processes, which stay detected; the
    daemon says what is wrong with itself, and all is well when the directive has gone.
    """

    def test_the_daemon_says_that_it_lacks_something(self) -> None:
        web = guest.dotnet_service("web")
        web.start()
        self.subscribe().wait_state(web.pid, "ready")

        after = guest.cursor()
        guest.drop_in(guest.SERVICE, "[Service]\nRestrictSUIDSGID=yes\n")
        guest.systemctl("restart", guest.SERVICE)
        entry = guest.wait_journal(after, MESSAGE_ID=guest.MESSAGES["DEGRADED"])
        self.assertIn("ENOSYS", entry["MESSAGE"])
        self.assertIn("ENOSYS", "".join(guest.call("Status")["degraded"]))
        self.assertEqual(guest.processes()[web.pid]["state"], "detected")

        guest.drop_in(guest.SERVICE, "")
        guest.systemctl("restart", guest.SERVICE)
        self.subscribe().wait_state(web.pid, "ready")
        self.assertNotIn("degraded", guest.call("Status"))
