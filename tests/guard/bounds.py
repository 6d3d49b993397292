# SPDX-License-Identifier: MIT
"""bounds.txt: what each figure may be."""

from pathlib import Path
from typing import NamedTuple
from unittest import TestCase

FILE = Path(__file__).with_name("bounds.txt")
FAR_BELOW = 0.6  # of today's value: the bound guards nothing any more


class Bound(NamedTuple):
    """A line of the file."""

    today: float
    allowed: float


def read() -> dict[str, Bound]:
    """All of them, by the name of the figure."""
    lines = [line.split() for line in FILE.read_text(encoding="utf-8").splitlines()
             if line and not line.startswith("#")]
    return {name: Bound(float(today), float(allowed)) for name, today, allowed in lines}


def check(test: TestCase, figure: str, value: float, look_at: str) -> None:
    """Fails where the figure is above its bound; prints it in any case."""
    bound = read().get(figure)
    test.assertIsNotNone(bound, f"{figure} is {value:g} and has no bound: give it a line in {FILE}")
    print(f"{figure}: {value:g} ({bound.today:g} when its bound was set, {bound.allowed:g} allowed)")
    test.assertLessEqual(
        value, bound.allowed,
        f"{figure} has grown from {bound.today:g} to {value:g}, {bound.allowed:g} is allowed. "
        f"Look at {look_at}. Where it is worth its price, change its line in {FILE} and say why.")
    if value < FAR_BELOW * bound.today:
        print(f"{figure}: far below what it was: tighten its line in {FILE}")
