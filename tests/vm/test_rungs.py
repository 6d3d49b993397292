# SPDX-License-Identifier: MIT
"""Each mechanism in turn, on a kernel that has them all."""

from ladder import MECHANISMS, Ladder


class Rungs(Ladder):
    """A NativeAOT program runs before the daemon starts, and one is started after it."""

    def test_every_one_works_and_the_first_is_taken(self) -> None:
        refused = self.row("")
        self.assertEqual(refused, dict.fromkeys(MECHANISMS) | {"auto": "fentry"})
