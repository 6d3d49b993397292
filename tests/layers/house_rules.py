#!/usr/bin/env python3
"""Refuses what no compiler sees: house_rules.py [ROOT], the checkout when left out.

Prints one line for each breach, as a compiler would, and ends with 1 where there was one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from layers import ALLOWED

HERE = Path(__file__).resolve().parent
FOLDERS = ("bpf", "daemon", "include", "tests")
LINES = 500

# Top-level headers of ISO C, of glibc and of gcc. A project header of such a name is found in its
# place by #include "...", and it is anyone's guess which of the two a reader has in mind.
SYSTEM_HEADERS = frozenset("""
    aio aliases alloca ar argp argz assert byteswap complex cpio cpuid ctype dirent dlfcn elf endian
    envz err errno error execinfo fcntl features fenv float fmtmsg fnmatch fstab fts ftw gconv
    getopt glob grp gshadow iconv ifaddrs inttypes iso646 langinfo lastlog libgen libintl limits
    link locale malloc math mcheck memory mntent monetary mqueue ndbm netdb nl_types nss obstack
    paths poll printf pthread pty pwd re_comp regex regexp resolv sched search semaphore setjmp
    sgtty shadow signal spawn stab stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint
    stdio stdio_ext stdlib stdnoreturn string strings stropts syscall sysexits syslog tar termio
    termios tgmath threads time trace ttyent uchar ucontext ulimit unistd unwind utime utmp utmpx
    values varargs wait wchar wctype wordexp
    """.split())

COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.DOTALL | re.VERBOSE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]*)[">]', re.MULTILINE)
# libbpf spells what it takes from the running kernel as an extern of its own kind.
EXTERN = re.compile(r"^[ \t]*extern\b(?![^;]*\b__k(?:config|sym)\b)", re.MULTILINE)
# A prototype at file level which is not static.
PROTOTYPE = re.compile(
    r"^(?!static\b|typedef\b|return\b)[A-Za-z_]\w*[\w \t*]*[ \t*](?P<name>[A-Za-z_]\w*)\([^;{}()]*"
    r"(?:\([^;{}()]*\)[^;{}()]*)*\)[^;{}=]*;", re.MULTILINE)
SLEEP = re.compile(r"\b(?:sleep|usleep|nanosleep|clock_nanosleep)[ \t]*\(")
PLACEHOLDER = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")


def blank(match: re.Match[str]) -> str:
    """As many lines, and nothing on them."""
    return "\n" * match[0].count("\n") or " "


def line_of(text: str, match: re.Match[str]) -> int:
    """The line that the match begins on."""
    return text.count("\n", 0, match.start()) + 1


def breaches_in_includes(text: str) -> Iterator[tuple[int, str]]:
    """Line and complaint, for what C code includes."""
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        if ".." in name.split("/"):
            yield line_of(text, match), f"{name}: an include that climbs goes round the layers"
        elif quote == '"' and "/" in name:
            yield line_of(text, match), f"{name}: project headers are included by bare file name"


def breaches_in_code(text: str) -> Iterator[tuple[int, str]]:
    """Line and complaint, for what a .c file says outside comments and strings."""
    code = COMMENT_OR_LITERAL.sub(blank, text)
    for match in EXTERN.finditer(code):
        yield line_of(code, match), "extern goes round the layers; include the header that has it"
    for match in PROTOTYPE.finditer(code):
        name = match["name"]
        if not re.search(rf"\b{name}\([^;{{]*\)\s*{{", code):
            yield line_of(code, match), f"{name}: defined elsewhere; include the header that has it"
    for match in SLEEP.finditer(code):
        yield line_of(code, match), "nothing here sleeps; wait for the event"


def breaches_in(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line and complaint, for one file."""
    lines = len(text.splitlines())
    if lines > LINES:
        yield lines, f"has more than {LINES} lines, which is usually a missing type"
    # This file and its test have to name them.
    if path.parent != HERE:
        for match in PLACEHOLDER.finditer(text):
            yield line_of(text, match), f"{match[0]}: finish it or leave it out"
    if path.suffix not in (".c", ".h"):
        return
    if not text.startswith("// "):
        yield 1, "does not open with a comment on what it is"
    if "\n// SPDX-License-Identifier: " not in text:
        yield 1, "has no SPDX-License-Identifier"
    yield from breaches_in_includes(text)
    if path.suffix == ".c":
        yield from breaches_in_code(text)
    elif path.stem in SYSTEM_HEADERS:
        yield 1, f"has the name of a system header, <{path.name}>"


def clashes(headers: list[Path]) -> Iterator[str]:
    """Headers of one name which one layer sees: which of them an include means is chance."""
    for layer, allowed in ALLOWED.items():
        seen = {}
        for header in headers:
            if header.parent.name in allowed | {layer}:
                first = seen.setdefault(header.name, header)
                if first != header:
                    yield f"{header}:1: {layer} sees two headers of this name, the other is {first}"


def check(root: Path) -> list[str]:
    """Every breach below root."""
    found = []
    paths = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*")
                   if path.suffix in (".c", ".h", ".py"))
    for path in paths:
        for line, complaint in breaches_in(path, path.read_text(errors="surrogateescape")):
            found.append(f"{path.relative_to(root)}:{line}: {complaint}")
    headers = [path.relative_to(root) for path in paths
               if path.suffix == ".h" and not path.is_relative_to(root / "tests")]
    return found + list(clashes(headers))


def main(arguments: list[str]) -> int:
    """Prints the breaches and returns the exit status."""
    root = Path(arguments[0]).resolve() if arguments else HERE.parents[1]
    found = check(root)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
