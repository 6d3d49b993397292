# SPDX-License-Identifier: MIT
"""What PID 1 of a small guest runs: each test file that /arguments names, as CTest would.

Or, behind `--`, a command.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE), str(HERE.parent), str(HERE.parent / "lib")]

import runner


def main(arguments: list[str]) -> int:
    """The exit status: a failure's, else that of what passed, else that of what was skipped."""
    print("kernel", os.uname().release)
    if arguments[0] == "--":
        return subprocess.run(arguments[1:], check=False).returncode
    statuses = {run(argument) for argument in arguments}
    failures = statuses - {0, runner.ALL_SKIPPED}
    return min(failures or statuses)


def run(argument: str) -> int:
    """One file, or FILE:CLASS.METHOD of it."""
    name, _, case = argument.partition(":")
    return runner.main([str(HERE / f"test_{name}.py"), *([case] if case else [])])


if __name__ == "__main__":
    sys.exit(main(json.loads(Path("/arguments").read_text())))
