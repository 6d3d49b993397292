# SPDX-License-Identifier: MIT
"""What each shell offers for a line: its own machinery, run with our completions."""

import os
import pty
import re
import subprocess
import tempfile
from pathlib import Path

from lib.daemon import DISCOVERYCTL
from lib.require import require_tool
from lib.varlink import TIMEOUT
from manual import COMPLETIONS

BASH = """
compopt() { :; }  # the real one wants the line editor
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
read -ra spec < <(complete -p "$1")
"${spec[2]}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
"""

# Ours, so that completions ask this build's client.
ENVIRONMENT = os.environ | {"PATH": f"{Path(DISCOVERYCTL).parent}:{os.environ['PATH']}",
                            "LC_ALL": "C.UTF-8", "TERM": "xterm"}


def bash(line: str) -> dict[str, str]:
    """Candidates; bash has no descriptions."""
    program = line.split()[0]
    # The line editor makes "=" a word.
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line[-1] in " =" else [])
    return _split(_run([require_tool("bash"), "--norc", "--noprofile", "-c", BASH, "bash",
                        str(COMPLETIONS / "bash" / program), *words]))


def fish(line: str) -> dict[str, str]:
    """Candidates and their descriptions."""
    program = line.split()[0]
    with tempfile.TemporaryDirectory(prefix="discovery-") as home:
        return _split(_run([require_tool("fish"), "--no-config", "-c",
                            "source $argv[1]; complete -C $argv[2]", "--",
                            str(COMPLETIONS / "fish" / f"{program}.fish"), line], HOME=home))


def zsh(line: str) -> dict[str, str]:
    """Candidates and their descriptions."""
    program = require_tool("zsh")
    with tempfile.TemporaryDirectory(prefix="discovery-") as home:
        offered = Path(home) / "offered"
        offered.touch()
        (Path(home) / ".zshrc").write_text(Path(__file__).with_name("complete.zsh").read_text())
        _run_on_terminal([program, "-d", "-i"], ZDOTDIR=home, LINE=line, OFFERED=str(offered),
                         FUNCTIONS=str(COMPLETIONS / "zsh"))
        return _split(offered.read_text())


SHELLS = {"bash": bash, "fish": fish, "zsh": zsh}


def _split(text: str) -> dict[str, str]:
    lines = (line.partition("\t") for line in text.splitlines())
    return {candidate: description for candidate, _, description in lines}


def _run(argv: list[str], **environment: str) -> str:
    result = subprocess.run(argv, env=ENVIRONMENT | environment, text=True, capture_output=True,
                            stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
    assert (result.returncode, result.stderr) == (0, ""), (argv, result)
    return result.stdout


def _run_on_terminal(argv: list[str], **environment: str) -> None:
    """Until the terminal has nobody any more, which is when the shell and its children ended."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        with subprocess.Popen(argv, env=ENVIRONMENT | environment, stdin=theirs, stdout=theirs,
                              stderr=theirs, start_new_session=True) as shell:
            os.close(theirs)
            try:
                _drain(terminal.fileno())
                assert shell.wait(TIMEOUT) == 0
            finally:
                shell.kill()


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # EIO: the other end is closed
        pass
