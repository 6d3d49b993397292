# SPDX-License-Identifier: MIT
"""An administrator gives the daemon an option that it does not know."""

import guest

# The limits of starts are systemd's own, which guests otherwise do without.
MISTAKE = """[Unit]
StartLimitIntervalSec=10s
StartLimitBurst=5
[Service]
ExecStart=
ExecStart=dotnet-discoveryd --nonsense
"""


class CannotStart(guest.Scenario):
    """The unit fails each time that a client calls, until systemd gives it up.

    The client that waits is let go of then, and the next one is told that nothing listens. The
    journal has the daemon's own words. With the option gone everything is as before.
    """

    def test_clients_do_not_wait_for_ever(self) -> None:
        guest.systemctl("stop", guest.SERVICE)
        guest.drop_in(guest.SERVICE, MISTAKE)
        after = guest.cursor()

        waiting = guest.run("dotnet-discoveryctl", "list", check=False)
        self.assertEqual(waiting.returncode, 1)
        self.assertIn("has ended the connection", waiting.stderr)
        late = guest.run("dotnet-discoveryctl", "list", check=False)
        self.assertEqual(late.returncode, 69)
        self.assertIn(f"systemctl start {guest.SOCKET}", late.stderr)
        said = {entry["MESSAGE"] for entry in guest.journal(after, _COMM="dotnet-discover")}
        self.assertIn("See dotnet-discoveryd --help.", said)

        guest.drop_in(guest.SERVICE, "")
        guest.systemctl("reset-failed", guest.SERVICE)
        guest.systemctl("start", guest.SOCKET)
        self.assertIn("No .NET process", guest.ctl("list"))
