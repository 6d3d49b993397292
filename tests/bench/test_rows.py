# SPDX-License-Identifier: MIT
"""Each row of `./dev bench` at tiny sizes, so that it works when somebody wants its figures. No
figure is judged; what must not be lost even here is.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from lib.require import require_bpf, require_root

BENCH = Path(__file__).with_name("bench.py")
sys.path += [str(BENCH.parent.parent / "runtime")]

import row_guest
from figures import Row

DEADLINE = 150
# None of what they count may be missing, whatever the machine.
COUNTS = ("not found by the scan", "not told ready", "missing in a snapshot",
          "not told to one of them")


class Rows(unittest.TestCase):
    def setUp(self) -> None:
        require_root()
        require_bpf()
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="bench-"))

    def measure(self, *rows: str) -> list[dict[str, object]]:
        """Runs bench.py in the namespaces of this test; the figures."""
        argv = [sys.executable, "-B", str(BENCH), "--apart", "--tiny", "--output", self.folder,
                *rows]
        result = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=DEADLINE, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        content = json.loads(Path(self.folder, "bench.json").read_text())
        self.assertEqual(list(content["rows"]), list(rows))
        figures = [figure for row in content["rows"].values() for figure in row["figures"]]
        for figure in figures:
            if figure["name"].endswith(COUNTS):
                self.assertEqual(figure["values"], [0], figure["name"])
        self.assertTrue(figures, result.stdout)
        return figures

    def test_what_a_system_call_costs(self) -> None:
        self.measure("tax")

    def test_what_a_system_call_costs_in_a_guest(self) -> None:
        """Without the guest, which takes too long: what it would run, and its figures."""
        argv = [sys.executable, "-B", str(BENCH.with_name("guest.py")), "1", "1"]
        written = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=DEADLINE,
                                 check=True).stdout
        row = Row("guest", row_guest.TITLE, "")
        row_guest.tell(row, "a guest", f"kernel of a guest\n{written}")
        self.assertIn("a guest: of a guest", row.entry["notes"])
        self.assertTrue(row.entry["figures"])

    def test_how_soon_it_is_told(self) -> None:
        self.measure("latency")

    def test_what_runs_already(self) -> None:
        self.measure("scan", "processes")

    def test_what_comes_and_goes(self) -> None:
        self.measure("load", "brief", "idle")


if __name__ == "__main__":
    unittest.main()
