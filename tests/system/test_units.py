# SPDX-License-Identifier: MIT
"""What systemd's own tools have to say of the units."""

import re

import guest

EXPOSURE = 2.0  # at most; docs/security.md explains what remains


class Units(guest.Scenario):
    """An administrator checks what was installed."""

    def test_verify_finds_nothing(self) -> None:
        paths = [guest.show(unit, "FragmentPath") for unit in (guest.SERVICE, guest.SOCKET)]
        # No man: this machine has no program of that name.
        result = guest.run("systemd-analyze", "verify", "--man=no", *paths)
        self.assertEqual(result.stdout + result.stderr, "")

    def test_the_service_is_hardly_exposed(self) -> None:
        report = guest.run("systemd-analyze", "security", "--no-pager", guest.SERVICE).stdout
        exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+) \w+", report)
        print(exposure[0])
        self.assertLessEqual(float(exposure[1]), EXPOSURE, report)
