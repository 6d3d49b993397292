"""The build refuses an include that the layers forbid.

Takes the compile command of one file of each layer, as the build has it, and compiles one include
of every header of every layer with it. $DISCOVERY_BUILD is the build folder.
"""

import json
import os
import re
import shlex
import subprocess
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from layers import ALLOWED

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DISCOVERY_BUILD", ROOT / "build"))


def compile_commands() -> dict[str, list[str]]:
    """For each layer the command of one of its files, without input and output."""
    commands = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if file.is_relative_to(ROOT / "daemon"):
            argv = shlex.split(entry["command"])
            for option in ("-o", "-c"):
                at = argv.index(option)
                del argv[at:at + 2]
            # -Werror would let a warning pass for a refusal. The file is read from a pipe, and
            # finds what stands beside it all the same.
            argv = [word for word in argv if word != "-Werror"] + ["-iquote", str(file.parent)]
            commands.setdefault(file.relative_to(ROOT / "daemon").parts[0], argv)
    return commands


def headers() -> dict[str, list[Path]]:
    """Each layer's headers, sorted; those of the kernel side, which no layer may see, too."""
    folders = {"bpf": ROOT / "bpf", "include": ROOT / "include"}
    folders |= {layer: ROOT / "daemon" / layer for layer in ALLOWED}
    return {layer: sorted(folder.glob("*.h")) for layer, folder in folders.items()}


class Case(NamedTuple):
    """What is to be tried: a layer, and the headers that it includes."""

    layer: str
    wanted: list[Path]


class Attempt(NamedTuple):
    """What came of a file with nothing but these includes."""

    compiles: bool
    reached: bool  # every one of these headers, not another of the same name
    output: str


def try_include(command: list[str], wanted: list[Path]) -> Attempt:
    """Compiles such a file."""
    source = "".join(f'#include "{header.name}"\n' for header in wanted)
    result = subprocess.run([*command, "-fsyntax-only", "-H", "-x", "c", "-"], cwd=BUILD, text=True,
                            input=source, capture_output=True, check=False)
    # -H: a line for each file included, with dots for the depth.
    included = re.compile(r"^\.+ (.+)\n", re.MULTILINE)
    files = {Path(name) for name in included.findall(result.stderr)}
    return Attempt(result.returncode == 0, files.issuperset(wanted),
                   included.sub("", result.stderr))


class IncludesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.commands = compile_commands()
        cls.headers = headers()

    def check_each(self, cases: list[Case], check: Callable[[Case, Attempt], None]) -> None:
        """Tries each and has the outcome checked."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            attempts = pool.map(
                lambda case: try_include(self.commands[case.layer], case.wanted), cases)
            for case, attempt in zip(cases, attempts, strict=True):
                with self.subTest(f"{case.layer} includes {[str(path) for path in case.wanted]}"):
                    check(case, attempt)

    def test_every_layer_is_known(self) -> None:
        folders = {path.parent.name for path in (ROOT / "daemon").glob("*/*.c")}
        self.assertEqual(folders, set(ALLOWED))
        self.assertEqual(folders, set(self.commands), "the build leaves out a layer")

    def test_header_stands_alone(self) -> None:
        self.check_each([Case(layer, [header]) for layer in ALLOWED
                         for header in self.headers[layer]],
                        self.assert_included)

    def test_allowed(self) -> None:
        self.check_each([Case(layer, self.headers[other])
                         for layer, others in ALLOWED.items() for other in others],
                        self.assert_included)

    def test_forbidden(self) -> None:
        self.check_each([Case(layer, [header]) for layer, others in ALLOWED.items()
                         for other in self.headers.keys() - others - {layer}
                         for header in self.headers[other]],
                        self.assert_refused)

    def assert_included(self, _: Case, attempt: Attempt) -> None:
        self.assertTrue(attempt.compiles and attempt.reached, attempt.output)

    def assert_refused(self, case: Case, attempt: Attempt) -> None:
        self.assertFalse(attempt.reached, "the build lets it pass")
        name = case.wanted[0].name
        seen = ALLOWED[case.layer] | {case.layer}
        # Where the layer sees another header of this name, that one was meant.
        if not any(path.name == name for layer in seen for path in self.headers[layer]):
            self.assertFalse(attempt.compiles)
            # For this reason and no other.
            self.assertRegex(attempt.output, rf"{re.escape(name)}.*(No such file|not found)")


if __name__ == "__main__":
    unittest.main()
