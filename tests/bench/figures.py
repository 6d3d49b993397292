# SPDX-License-Identifier: MIT
"""Figures with their spread and their goals: gathered row by row, kept as JSON."""

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

Figure = dict[str, Any]
BEGAN = time.monotonic()


def quantile(values: Sequence[float], part: float) -> float:
    """By nearest rank: one of the values, so that a p99 is something that happened."""
    ordered = sorted(values)
    return ordered[max(math.ceil(part * len(ordered)), 1) - 1]


def median(values: Sequence[float]) -> float:
    """The middle one, the lower of the two where their count is even."""
    return quantile(values, 0.5)


def ratios(values: Sequence[float], to: Sequence[float]) -> list[float]:
    """Of each to its own: what was measured in the same round."""
    return [value / other for value, other in zip(values, to, strict=True)]


def exponent(small: tuple[float, float], large: tuple[float, float]) -> float:
    """Of growth between two (size, cost): the slope in a log-log plot. 1 is linear."""
    return math.log(large[1] / small[1]) / math.log(large[0] / small[0])


def elapsed() -> str:
    """Since the program began, in minutes and seconds."""
    minutes, seconds = divmod(int(time.monotonic() - BEGAN), 60)
    return f"{minutes}:{seconds:02}"


class Goal(NamedTuple):
    """What a median is to be at most."""

    most: float

    def verdict(self, value: float) -> str:
        """Whether it is, and by how much not."""
        if value <= self.most:
            return f"<= {shown(self.most)}: met"
        if self.most == 0:
            return f"<= 0: MISSED by {shown(value)}"
        return f"<= {shown(self.most)}: MISSED by {100 * (value / self.most - 1):.0f} %"


def shown(value: float) -> str:
    """Three digits or so."""
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def described(values: Sequence[float]) -> Figure:
    """Its numbers. A single value has no spread."""
    parts: Figure = {"n": len(values), "median": median(values)}
    if len(values) > 1:
        parts |= {"p25": quantile(values, 0.25), "p75": quantile(values, 0.75),
                  "p99": quantile(values, 0.99), "min": min(values), "max": max(values)}
    return parts


class Row:
    """One row of `./dev bench`: everything in it was measured in one run, interleaved."""

    HEADINGS = ("n", "median", "p25", "p75", "p99")

    def __init__(self, name: str, title: str, load: str):
        self.name = name
        self.entry: dict[str, Any] = {
            "title": title, "when": time.strftime("%Y-%m-%d %H:%M"), "load": load,
            "figures": [], "notes": [], "tables": [], "plots": []}
        print(f"\n{name}: {title} ({elapsed()})\n  {'':78}"
              + "".join(f"{heading:>9}" for heading in self.HEADINGS) + "  goal", flush=True)

    def add(self, name: str, unit: str, values: Sequence[float], goal: float | None = None) -> None:
        """One figure: all that was measured of it, and at most what its median is to be."""
        if not values:
            self.note(f"nothing was measured of: {name}")
            return
        figure = {"name": name, "unit": unit} | described(values)
        if goal is not None:
            figure |= {"goal": goal, "verdict": Goal(goal).verdict(figure["median"])}
        cells = [f"{shown(figure[heading]):>9}" if heading in figure else f"{'-':>9}"
                 for heading in self.HEADINGS]
        label = f"{name}, {unit}" if unit else name
        print(f"  {label:78}" + "".join(cells) + f"  {figure.get('verdict', '')}", flush=True)
        self.entry["figures"].append(figure | {"values": list(values)})

    def growth(self, name: str, points: Sequence[tuple[float, float]], goal: float = 1.1) -> None:
        """How it grows from each size to the next: the exponents of (size, cost)."""
        for small, large in zip(points, points[1:]):
            if min(*small, *large) <= 0:
                self.note(f"no exponent of {name}, {small[0]:.0f} -> {large[0]:.0f}: from "
                          f"{shown(small[1])} to {shown(large[1])}")
                continue
            self.add(f"growth of {name}, {small[0]:.0f} -> {large[0]:.0f}", "exponent",
                     [exponent(small, large)], goal)

    def progress(self, text: str) -> None:
        """What comes next, for whoever waits for it."""
        print(f"  {elapsed()} {text} ...", flush=True)

    def note(self, text: str) -> None:
        """What the reader must know to judge the figures of this row."""
        print(f"  {text}", flush=True)
        self.entry["notes"].append(text)

    def table(self, columns: Sequence[str], lines: dict[str, Sequence[str]]) -> None:
        """Figures that the written table has side by side: their names, line by line."""
        self.entry["tables"].append({"columns": list(columns), "lines": lines})

    def bars(self, title: str, unit: str, names: dict[str, str]) -> None:
        """A plot of some of the figures: the names they have here, and those in the plot."""
        self.entry["plots"].append({"kind": "bars", "title": title, "unit": unit, "names": names})

    def curves(self, title: str, size: str, unit: str,
               series: dict[str, list[tuple[float, float]]], straight: bool = False) -> None:
        """A plot of what grows, both axes logarithmic; straight: the horizontal one is not."""
        self.entry["plots"].append({"kind": "curves", "title": title, "size": size, "unit": unit,
                                    "series": series, "straight": straight})


class Results:
    """What runs have measured: those of a row stay until it is measured anew."""

    def __init__(self, folder: Path, machine: str):
        self.folder = folder
        self._path = folder / "bench.json"
        self.content: dict[str, Any] = {"rows": {}}
        if self._path.exists():
            self.content = json.loads(self._path.read_text())
        if machine:
            self.content["machine"] = machine

    def keep(self, row: Row) -> None:
        """Writes it, so that a later row that fails costs no earlier one."""
        self.content["rows"][row.name] = row.entry
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.content, indent=1) + "\n")

    def markdown(self, order: Sequence[str]) -> str:
        """A table as docs/performance.md has it."""
        lines = [f"Measured on {self.content.get('machine', 'a machine that is not known')}.", ""]
        rows = {name: self.content["rows"][name] for name in order if name in self.content["rows"]}
        for name, row in rows.items():
            lines += _markdown_of(name, row)
        lines += _missed(rows)
        return "\n".join(lines)


def _markdown_of(name: str, row: dict[str, Any]) -> list[str]:
    lines = [f"**{name}: {row['title']}**", ""]
    figures = {figure["name"]: figure for figure in row["figures"]}
    for table in row["tables"]:
        lines += [f"| | {' | '.join(table['columns'])} |",
                  "|---" * (len(table["columns"]) + 1) + "|"]
        lines += [f"| {label} | {' | '.join(_cell(figures.pop(name)) for name in names)} |"
                  for label, names in table["lines"].items()]
        lines.append("")
    lines += ["| | median | middle half | p99 | goal |", "|---|---|---|---|---|"]
    for figure in figures.values():
        last = shown(figure["p99"]) if figure["n"] >= 50 else ""
        lines.append(f"| {figure['name']} | {_value(figure)} | {_middle(figure)} | {last} "
                     f"| {_verdict(figure)} |")
    return [*lines, "", *(f"- {note}" for note in row["notes"]), ""]


def _missed(rows: dict[str, Any]) -> list[str]:
    """The goals that were not met, of all rows."""
    goals = [(name, figure) for name, row in rows.items() for figure in row["figures"]
             if "verdict" in figure]
    missed = [f"| {name} | {figure['name']} | {_value(figure)} | {_verdict(figure)} |"
              for name, figure in goals if "MISSED" in figure["verdict"]]
    if not missed:
        return [f"**All {len(goals)} goals are met.**"]
    return [f"**Of {len(goals)} goals {len(missed)} {'is' if len(missed) == 1 else 'are'} "
            "missed:**", "",
            "| row | figure | median | goal |", "|---|---|---|---|", *missed]


def _verdict(figure: Figure) -> str:
    return figure.get("verdict", "").replace("<=", "≤")


def _value(figure: Figure) -> str:
    unit = f" {figure['unit']}" if figure["unit"] not in ("", "ratio", "exponent") else ""
    return shown(figure["median"]) + unit


def _middle(figure: Figure) -> str:
    return f"{shown(figure['p25'])}–{shown(figure['p75'])}" if "p25" in figure else ""


def _cell(figure: Figure) -> str:
    """One figure in a table of several."""
    parts = [_value(figure), f"({_middle(figure)})" if "p25" in figure else "", _verdict(figure)]
    return " ".join(filter(None, parts))
