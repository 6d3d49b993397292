# SPDX-License-Identifier: MIT
"""The help text, the manual page and the completions of a program name the same."""

import re
import unittest

from manual import COMPLETIONS, PROGRAMS, bounds, options_of, program_help, section, source, terms
from shells import bash, fish, zsh


def of_page(program: str) -> dict[str, str]:
    """The options that a page explains."""
    return options_of("\n".join(terms(section(PROGRAMS[program][1], "OPTIONS"))))


def of_bash(program: str) -> dict[str, str]:
    """Those that bash offers; an optional argument is an option offered with and without it."""
    offered = bash(f"{program} -").keys()
    plain = {word for word in offered if not word.endswith("=")}
    return ({word: "[=]" if f"{word}=" in offered else "" for word in plain}
            | {word[:-1]: "=" for word in offered - plain if word[:-1] not in plain})


def of_fish(program: str) -> dict[str, str]:
    """Those that its file declares."""
    text = (COMPLETIONS / "fish" / f"{program}.fish").read_text()
    found = {}
    for line in re.findall(r"^complete -c \S+ (.*)$", text, re.MULTILINE):
        words = line.split(" -d ")[0]
        argument = "=" if re.search(r" -[xr]\b", words) else ""
        found |= {f"-{name}": "" for name in re.findall(r"-s (\w)", words)}
        found |= {f"--{name}": argument for name in re.findall(r"-l ([\w-]+)", words)}
        found |= {name: "[=]" for name in re.findall(r"-a '(--[\w-]+)='", words)}
    return found


def of_zsh(program: str) -> dict[str, str]:
    """Those that its file declares."""
    text = (COMPLETIONS / "zsh" / f"_{program}").read_text()
    arguments = text.split("_arguments", 1)[1].split("\n\n")[0]
    found = {name: "" for names in re.findall(r"\{([-\w,]+)\}'\[", arguments)
             for name in names.split(",")}
    specs = re.findall(r"'(?:\([^)]*\))?\*?(--?[a-z][\w-]*)(=-|=)?\[", arguments)
    return found | {name.rstrip("-"): {"": "", "=": "=", "=-": "[=]"}[sign] for name, sign in specs}


class Options(unittest.TestCase):
    """For each program, in each place."""

    def test_every_place_has_those_of_the_help(self) -> None:
        for program in PROGRAMS:
            wanted = options_of(program_help(program))
            self.assertIn("--help", wanted)
            for place in (of_page, of_bash, of_fish, of_zsh):
                with self.subTest(program=program, place=place.__name__):
                    self.assertEqual(place(program), wanted)

    def test_the_shells_offer_what_is_declared(self) -> None:
        for program in PROGRAMS:
            for complete in (fish, zsh):
                with self.subTest(program=program, shell=complete.__name__):
                    offered = {word.rstrip("=") for word in complete(f"{program} -")}
                    offered |= {word.rstrip("=") for word in complete(f"{program} --")}
                    self.assertEqual(offered, set(options_of(program_help(program))))

    def test_arguments_have_the_same_names(self) -> None:
        for program, (_, page) in PROGRAMS.items():
            text = program_help(program)
            named = dict(re.findall(r"(--[\w-]+)\[?=([A-Z]+)", text))
            shown = "\n".join(terms(section(page, "OPTIONS")))
            self.assertEqual(dict(re.findall(r"(--[\w-]+)\[?=([A-Z]+)", shown)), named)

    def test_commands_are_those_of_the_help(self) -> None:
        text = program_help("dotnet-discoveryctl").split("Commands:\n")[1].split("\n\n")[0]
        commands = dict(re.findall(r"^  (\w+)((?: \S+)?)  ", text, re.MULTILINE))
        page = "\n".join(terms(section("dotnet-discoveryctl.1", "COMMANDS")))
        self.assertEqual({name: arguments.replace("...", "") for name, arguments in
                          re.findall(r"^(\w+)(.*)$", page, re.MULTILINE)},
                         {name: arguments.replace("...", "")
                          for name, arguments in commands.items()})
        for complete in (bash, fish, zsh):
            with self.subTest(shell=complete.__name__):
                self.assertEqual(set(complete("dotnet-discoveryctl ")), set(commands))

    def test_filters_are_those_of_the_help(self) -> None:
        text = program_help("dotnet-discoveryctl").split("NAME is one of\n")[1].split(".\n")[0]
        names = re.findall(r"\w+", text)
        page = terms(section("dotnet-discoveryctl.1", "FILTERS"))
        self.assertEqual([term.partition("=")[0] for term in page], names)


class Limits(unittest.TestCase):

    def test_defaults_are_those_of_the_help(self) -> None:
        limits = bounds()
        page = section("dotnet-discoveryd.8", "OPTIONS")
        for option, default in re.findall(r"(--m\S+|--ring-size)=\w+(?:(?!--).)*?default (\d+)",
                                          program_help("dotnet-discoveryd"), re.DOTALL):
            with self.subTest(option):
                paragraph = re.search(rf"^\*{option}=.*?(?=^\*)|^\*{option}=.*", page + "\n*",
                                      re.MULTILINE | re.DOTALL)[0]
                bound = re.search(r"Defaults\s+to\s+@(BOUND_\w+?)@", paragraph)[1]
                self.assertEqual(limits[bound], int(default))

    def test_every_limit_named_exists(self) -> None:
        limits = bounds()
        known = {name for bound in limits for name in (bound, f"{bound}_SIZE")}
        known |= {"PROJECT_VERSION", "CMAKE_INSTALL_FULL_SBINDIR"}
        for page in ("dotnet-discoveryd.8", "dotnet-discoveryctl.1",
                     "org.dotnetdiscovery.Manager.7", "org.dotnetdiscovery1.5"):
            used = set(re.findall(r"@(\w+)@", source(page)))
            self.assertLessEqual(used, known)
            for name in used:
                if name.endswith("_SIZE"):
                    self.assertEqual(limits[name.removesuffix("_SIZE")] % 1024, 0)
