# SPDX-License-Identifier: MIT
"""Figures with their spread, as a table for people and as JSON."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def quantile(values: Sequence[float], part: float) -> float:
    """By nearest rank: one of the values, so that a p99 is something that happened."""
    ordered = sorted(values)
    return ordered[max(math.ceil(part * len(ordered)), 1) - 1]


def median(values: Sequence[float]) -> float:
    """The middle one, the lower of the two where their count is even."""
    return quantile(values, 0.5)


def shown(value: float) -> str:
    """Three digits or so."""
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


class Report:
    """What was measured, section by section; each figure is printed as soon as it is there."""

    HEADINGS = ("n", "median", "p25", "p75", "p99", "min", "max")

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._section = ""

    def section(self, title: str) -> None:
        """What the figures from here on are about."""
        self._section = title
        print(f"\n{title}")
        print(f"  {'':58}" + "".join(f"{heading:>9}" for heading in self.HEADINGS))

    def add(self, name: str, unit: str, values: Sequence[float]) -> None:
        """One figure: all that was measured of it. A single value has no spread."""
        parts: dict[str, float] = {"n": len(values)}
        if values:
            parts["median"] = median(values)
        if len(values) > 1:
            parts |= {"p25": quantile(values, 0.25), "p75": quantile(values, 0.75),
                      "p99": quantile(values, 0.99), "min": min(values), "max": max(values)}
        cells = [f"{shown(parts[heading]):>9}" if heading in parts else f"{'-':>9}"
                 for heading in self.HEADINGS]
        label = f"{name}, {unit}" if unit else name
        print(f"  {label:58}" + "".join(cells), flush=True)
        self.entries.append({"section": self._section, "name": name, "unit": unit,
                             "values": list(values)} | parts)

    def note(self, text: str) -> None:
        """What the reader must know to judge the figures of this section."""
        print(f"  {text}", flush=True)
        self.entries.append({"section": self._section, "note": text})

    def write(self, path: Path) -> None:
        """All of it, each measured value included."""
        path.write_text(json.dumps(self.entries, indent=1) + "\n")
