# SPDX-License-Identifier: MIT
"""A machine boots that has the project installed, and two .NET services."""

from pathlib import Path

import guest
from guest import DotnetService

PLAIN = DotnetService("plain", {})
PRIVATE = DotnetService("private", {"PrivateTmp": "yes", "DynamicUser": "yes"})


def before_boot(root: Path) -> None:
    PLAIN.enable(root)
    PRIVATE.enable(root)


class Boot(guest.Scenario):
    """Both services are enabled as the daemon is; nothing says which of the three comes first.
    When the boot has ended, the daemon knows both, whichever it found running and whichever the
    kernel told it of.
    """

    def test_no_unit_failed(self) -> None:
        self.assertEqual(guest.systemctl("--failed", "--legend=no"), "")
        self.assertEqual(guest.systemctl("is-system-running").strip(), "running")

    def test_units_are_enabled_and_active(self) -> None:
        for unit in (guest.SERVICE, guest.SOCKET):
            self.assertEqual(guest.show(unit, "UnitFileState"), "enabled")
            self.assertEqual(guest.show(unit, "ActiveState"), "active")

    def test_both_services_are_ready_each_in_its_unit_and_at_its_socket(self) -> None:
        subscription = self.subscribe()
        for service in (PLAIN, PRIVATE):
            process = subscription.wait_state(service.pid, "ready")
            self.assertEqual(process["unit"], service.unit)
            self.assertEqual(process["executable"], guest.APP)
            self.assertRegex(process["socketPath"], rf"^/tmp/dotnet-diagnostic-{service.pid}-\d+-")
            host_path = f"/proc/{service.pid}/root{process['socketPath']}"
            self.assertEqual(process["hostSocketPath"], host_path)
            self.assertTrue(Path(host_path).is_socket())
        private = subscription.alive()[PRIVATE.pid]
        self.assertFalse(Path(private["socketPath"]).exists(), "its /tmp is not private")
        self.assertNotEqual(private["uid"], 0)

    def test_nothing_is_missing_to_the_daemon(self) -> None:
        self.assertNotIn("degraded", guest.call("Status"))
