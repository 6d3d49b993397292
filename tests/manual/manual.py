# SPDX-License-Identifier: MIT
"""The manual pages as they are written and as they are built, and what they must agree with."""

import os
import re
import subprocess
from pathlib import Path

from lib.daemon import BUILD, DISCOVERYCTL, DISCOVERYD

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs/man"
BUILT = Path(os.environ.get("DISCOVERY_BUILD", str(BUILD))) / "man"
COMPLETIONS = ROOT / "daemon/ctl/completions"

PROGRAMS = {"dotnet-discoveryd": (DISCOVERYD, "dotnet-discoveryd.8"),
            "dotnet-discoveryctl": (DISCOVERYCTL, "dotnet-discoveryctl.1")}

BOUND = re.compile(r"^ +(BOUND_\w+) = (\d+)(?: << (\d+))?,", re.MULTILINE)


def source(page: str) -> str:
    """A page as it is written, comments left out."""
    text = (SOURCES / f"{page}.scd").read_text()
    return re.sub(r"^;.*\n", "", text, flags=re.MULTILINE)


def section(page: str, name: str) -> str:
    """One section of a page."""
    return source(page).split(f"\n# {name}\n")[1].split("\n# ")[0]


def terms(text: str) -> list[str]:
    """What a section explains: the lines in front of an indented paragraph, without marks."""
    return [re.sub(r"(?<!\w)_|_(?!\w)", "", line.replace("*", ""))
            for line in re.findall(r"^(\S.*)\n\t", text, re.MULTILINE)]


def marked(text: str) -> set[str]:
    """Every word of the text that is set bold or underlined, code blocks left out."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return {word for pair in re.findall(r"\*([^*\n]+)\*|(?<!\w)_([^\n]+?)_(?!\w)", text)
            for word in re.findall(r"\w+", "".join(pair))}


def program_help(program: str) -> str:
    """What a program says to --help."""
    return subprocess.run([PROGRAMS[program][0], "--help"], text=True, stdout=subprocess.PIPE,
                          check=True, timeout=60).stdout


def options_of(text: str) -> dict[str, str]:
    """Each option that the lines or terms name, and how it takes an argument: "", "=" or "[=]"."""
    found = {}
    for line in re.findall(r"^\s*(-.*)$", text, re.MULTILINE):
        words = line.split("  ")[0]  # the explanation is set off
        for name, argument in re.findall(r"(?<![\w-])(--?[a-z][\w-]*)(\[?=?)", words):
            found[name] = {"": "", "=": "=", "[=": "[=]", "[": ""}[argument]
    return found


def bounds() -> dict[str, int]:
    """The limits of bounds.h."""
    text = (ROOT / "daemon/base/bounds.h").read_text()
    return {name: int(value) << int(shift or 0) for name, value, shift in BOUND.findall(text)}
