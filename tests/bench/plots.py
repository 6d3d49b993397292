# SPDX-License-Identifier: MIT
"""Plots of the figures, by gnuplot: one SVG for each."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

COMMON = """set terminal svg size 800,480 dynamic font "sans-serif,13" background "white"
set output "{file}"
set title "{title}" noenhanced
set grid ytics
set key noenhanced below
set tics noenhanced
"""
BARS = """set style fill solid 0.5
set boxwidth 0.6
set yrange [0:*]
set xtics rotate by -20
set ylabel "{unit}"
plot $data using 0:2:xtic(1) with boxes notitle linecolor rgb "#4878a8", \\
     $data using 0:2:3:4 with yerrorbars notitle linecolor rgb "black"
"""


def draw(rows: dict[str, Any], folder: Path) -> list[Path]:
    """Draws what the rows say is to be drawn; none where there is no gnuplot."""
    if not shutil.which("gnuplot"):
        return []
    drawn = []
    for name, row in rows.items():
        for plot in row["plots"]:
            if not has_something(plot, row):
                continue
            part = re.sub(r"[^a-z0-9]+", "-", plot["title"].lower()).strip("-")
            file = folder / f"{name}-{part}.svg"
            script = bars(plot, row, file) if plot["kind"] == "bars" else curves(plot, file)
            subprocess.run(["gnuplot"], input=script, text=True, check=True)
            drawn.append(file)
    return drawn


def has_something(plot: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether anything of it was measured."""
    if plot["kind"] == "bars":
        return any(figure["name"] in plot["names"] for figure in row["figures"])
    return any(y > 0 for points in plot["series"].values() for _, y in points)


def bars(plot: dict[str, Any], row: dict[str, Any], file: Path) -> str:
    """A box up to each median, and the middle half as a line."""
    figures = {figure["name"]: figure for figure in row["figures"]}
    lines = []
    for name, label in plot["names"].items():
        if figure := figures.get(name):
            value = figure["median"]
            lines.append(f'"{label}" {value} {figure.get("p25", value)} {figure.get("p75", value)}')
    return _data("data", lines) + COMMON.format(file=file, title=plot["title"]) + BARS.format(
        unit=plot["unit"])


def curves(plot: dict[str, Any], file: Path) -> str:
    """A line for each series; nothing that is 0 has a place on a logarithmic axis."""
    script, parts = "", []
    for number, (label, points) in enumerate(plot["series"].items()):
        script += _data(f"data{number}", [f"{x} {y}" for x, y in points if y > 0])
        style = "lines" if plot["straight"] else "linespoints pointtype 7"
        parts.append(f'$data{number} using 1:2 with {style} linewidth 2 title "{label}"')
    script += COMMON.format(file=file, title=plot["title"])
    script += "set logscale y\n" if plot["straight"] else "set logscale xy\n"
    script += f'set xlabel "{plot["size"]}"\nset ylabel "{plot["unit"]}"\n'
    return script + "plot " + ", ".join(parts) + "\n"


def _data(name: str, lines: list[str]) -> str:
    return "\n".join([f"${name} << EOD", *lines, "EOD", ""])
