# SPDX-License-Identifier: MIT
"""The .NET programs that tests/runtime/samples.py built."""

import json
from pathlib import Path
from typing import Any

from lib.require import require


def built(folder: Path, name: str, seen_at: Path | None = None) -> dict[str, Any]:
    """What is known of this program; skips the test, with the reason, where it was not built.

    Its argv is for a process that sees the folder at another place, where one is given.
    """
    index = folder / "samples.json"
    require(index.exists(), f"{index} is missing: run tests/runtime/samples.py first")
    entry = json.loads(index.read_text())[name]
    require("argv" in entry, f"{name}: {entry.get('reason')}")
    seen = str((seen_at or folder) / name)
    return entry | {"argv": [word.replace(entry["folder"], seen) for word in entry["argv"]]}
