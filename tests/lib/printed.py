# SPDX-License-Identifier: MIT
"""Takes programs and commands out of docs/subscribing.md, so that what is tested is what is printed
there.
"""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "subscribing.md"


def program(name: str, folder: Path) -> Path:
    """Writes the block that follows the line naming this file; it can be run."""
    text = PAGE.read_text()
    block = re.search(rf"^`{re.escape(name)}`[^\n]*\n\n```\w+\n(.*?)^```$", text,
                      re.DOTALL | re.MULTILINE)
    assert block, f"{name} is not printed in {PAGE}"
    file = folder / name
    file.write_text(block[1])
    file.chmod(0o755)
    return file


def command(beginning: str) -> str:
    """The one command line that begins so, without its prompt; continued lines belong to it."""
    lines = re.findall(r"^    [$#] ((?:.*[\\|]\n)*.*)$", PAGE.read_text(), re.MULTILINE)
    found = [line for line in lines if line.startswith(beginning)]
    assert len(found) == 1, f"printed are {found}, not one command that begins {beginning!r}"
    return found[0]
