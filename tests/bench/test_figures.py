# SPDX-License-Identifier: MIT
"""The arithmetic of the figures: a benchmark that counts wrongly is worse than none."""

import json
import math
import tempfile
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import plots
from figures import Goal, Results, Row, described, exponent, median, quantile, ratios, shown


class Arithmetic(unittest.TestCase):
    def test_a_quantile_is_one_of_the_values(self) -> None:
        values = [5.0, 1.0, 4.0, 2.0, 3.0]
        self.assertEqual([quantile(values, part) for part in (0, 0.2, 0.21, 0.5, 0.99, 1)],
                         [1, 1, 2, 3, 5, 5])

    def test_the_median_of_an_even_count_is_the_lower_one(self) -> None:
        self.assertEqual(median([4.0, 1.0, 3.0, 2.0]), 2)
        self.assertEqual(median([7.0]), 7)

    def test_ratios_are_of_each_to_its_own(self) -> None:
        self.assertEqual(ratios([2.0, 9.0], [1.0, 3.0]), [2, 3])
        with self.assertRaises(ValueError):
            ratios([1.0], [1.0, 2.0])

    def test_the_exponent_is_that_of_the_growth(self) -> None:
        for power in (0, 0.5, 1, 1.1, 2):
            grown = exponent((100, 3.0), (1000, 3.0 * 10 ** power))
            self.assertTrue(math.isclose(grown, power, abs_tol=1e-9), grown)

    def test_a_single_value_has_no_spread(self) -> None:
        self.assertEqual(described([3.0]), {"n": 1, "median": 3})
        self.assertEqual(described([1.0, 2.0, 3.0, 4.0])["p75"], 3)

    def test_a_goal_says_by_how_much_it_is_missed(self) -> None:
        self.assertEqual(Goal(1.5).verdict(1.5), "<= 1.500: met")
        self.assertEqual(Goal(1.5).verdict(3.0), "<= 1.500: MISSED by 100 %")
        self.assertEqual(Goal(0).verdict(0), "<= 0: met")
        self.assertEqual(Goal(0).verdict(7), "<= 0: MISSED by 7")

    def test_three_digits_are_shown(self) -> None:
        self.assertEqual([shown(value) for value in (0, 12, 0.1234, 99.94, 1234.5)],
                         ["0", "12", "0.123", "99.9", "1234"])


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="bench-")))
        self.enterContext(redirect_stdout(StringIO()))

    def row(self, name: str, *values: float) -> Row:
        """One with a figure, a growth and a plot of each kind."""
        row = Row(name, "a title", "0.00")
        row.add("waits", "us", values, 2.0)
        row.growth("waits", [(1, 2.0), (10, 20.0), (100, 0.0)])
        row.bars("Bars", "us", {"waits": "it", "another": "not measured"})
        row.curves("Curves", "processes", "us", {"it": [(1, 2.0), (10, 0.0)]})
        return row

    def test_a_row_stays_until_it_is_measured_anew(self) -> None:
        Results(self.folder, "one machine").keep(self.row("first", 1.0))
        results = Results(self.folder, "another")
        results.keep(self.row("second", 2.0))
        results.keep(self.row("second", 3.0))
        content = json.loads((self.folder / "bench.json").read_text())
        self.assertEqual(content["machine"], "another")
        self.assertEqual({name: row["figures"][0]["values"]
                          for name, row in content["rows"].items()},
                         {"first": [1.0], "second": [3.0]})

    def test_the_table_has_the_figures_and_the_verdicts(self) -> None:
        results = Results(self.folder, "one machine")
        results.keep(self.row("first", 1.0, 3.0, 5.0))
        table = results.markdown(["first", "not measured"])
        self.assertIn("| waits | 3 us | 1–5 |  | ≤ 2: MISSED by 50 % |", table)
        self.assertIn("| growth of waits, 1 -> 10 | 1 |  |  | ≤ 1.100: met |", table)
        self.assertIn("- no exponent of waits, 10 -> 100: from 20 to 0", table)

    def test_figures_side_by_side_are_in_no_other_line(self) -> None:
        row = self.row("first", 1.0, 3.0, 5.0)
        row.add("others", "us", [7.0])
        row.table(["here", "there"], {"waiting": ["waits", "others"]})
        results = Results(self.folder, "one machine")
        results.keep(row)
        table = results.markdown(["first"])
        self.assertIn("| | here | there |\n|---|---|---|\n"
                      "| waiting | 3 us (1–5) ≤ 2: MISSED by 50 % | 7 us |\n", table)
        self.assertNotIn("\n| waits |", table)

    def test_what_is_missed_is_told_at_the_end(self) -> None:
        results = Results(self.folder, "one machine")
        results.keep(self.row("first", 3.0))
        self.assertTrue(results.markdown(["first"]).endswith(
            "**Of 2 goals 1 is missed:**\n\n| row | figure | median | goal |\n|---|---|---|---|\n"
            "| first | waits | 3 us | ≤ 2: MISSED by 50 % |"))
        results.keep(self.row("first", 1.0))
        self.assertTrue(results.markdown(["first"]).endswith("**All 2 goals are met.**"))

    def test_plots_leave_out_what_was_not_measured(self) -> None:
        row = self.row("first", 1.0, 3.0, 5.0).entry
        file = self.folder / "plot.svg"
        self.assertIn('"it" 3.0 1.0 5.0\nEOD', plots.bars(row["plots"][0], row, file))
        self.assertIn("$data0 << EOD\n1 2.0\nEOD", plots.curves(row["plots"][1], file))
        self.assertTrue(all(plots.has_something(plot, row) for plot in row["plots"]))
        row["figures"], row["plots"][1]["series"] = [], {"it": [(1, 0.0)]}
        self.assertFalse(any(plots.has_something(plot, row) for plot in row["plots"]))


if __name__ == "__main__":
    unittest.main()
