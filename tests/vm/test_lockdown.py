# SPDX-License-Identifier: MIT
"""A kernel that is locked down, which keeps its insides even from root."""

from pathlib import Path

from ladder import BPF, MECHANISMS, Ladder


class Lockdown(Ladder):
    """Each mechanism in turn, in the mode that this kernel was booted with."""

    def test_what_is_left(self) -> None:
        mode = Path("/proc/cmdline").read_text().split("lockdown=")[1].split()[0]
        taken = self.row(f"lockdown={mode}")
        refused = {name for name in MECHANISMS if taken[name]}
        if mode == "integrity":
            self.assertEqual((taken["auto"], refused), ("fentry", set()))
        else:
            self.assertEqual((taken["auto"], refused), ("perf", set(BPF)))
            for mechanism in BPF:
                self.assertIn("boot with lockdown=integrity or none", taken[mechanism])
