# SPDX-License-Identifier: MIT
"""The daemon is stopped, and its socket is not: whoever connects starts it."""

import guest


class Activation(guest.Scenario):
    """Somebody stops the service alone. A client that knows nothing of it connects and asks, and is
    answered by a daemon that was started for it.
    """

    def test_a_client_that_connects_is_answered(self) -> None:
        app = guest.dotnet_service("app")
        app.start()
        guest.systemctl("stop", guest.SERVICE)
        self.assertEqual(guest.show(guest.SERVICE, "ActiveState"), "inactive")
        self.assertEqual(guest.show(guest.SOCKET, "ActiveState"), "active")

        stopped = guest.cursor()
        self.subscribe().wait_state(app.pid, "ready")
        guest.wait_started(guest.SERVICE, stopped)

    def test_the_socket_stopped_too_nobody_is_there(self) -> None:
        guest.systemctl("stop", guest.SOCKET, guest.SERVICE)
        with self.assertRaises(FileNotFoundError):
            guest.Client()
        result = guest.run("dotnet-discoveryctl", "list", check=False)
        self.assertEqual(result.returncode, 69, result.stderr)
