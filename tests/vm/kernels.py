#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian's kernels, as guests boot them: kernels.py [SERIES...] fetches what is new of them.

They come by apt, in a tree of its own that knows the suites below and whose sources are made from
the machine's: nothing below /etc is touched and nothing is installed. A version that a mirror had
yesterday may be gone today, so a kernel is found through Debian's metapackage; one of a series
that has none any more, by its name. What is unpacked stays in build/kernels, and is what boots
where the mirror does not answer.
"""

import fcntl
import functools
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "tests"))

from lib.roots import KEYRING, CannotMake, command, mirror

FOLDER = Path(os.environ.get("DISCOVERY_KERNELS", CHECKOUT / "build" / "kernels")).resolve()
SERIES = ("5.10", "6.1", "6.12", "6.18", "7")  # of the last: the newest there is
SUITES = ("bullseye", "bookworm", "trixie", "trixie-backports", "sid")
SECURED = ("bullseye-security", "bookworm-security", "trixie-security")
FLAVOUR = "cloud-amd64"  # as the others, with fewer drivers

# How Debian compresses kernels: what such a stream begins with, and what undoes it.
COMPRESSED = {b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"\x02\x21\x4c\x18": "lz4"}


class Kernel(NamedTuple):
    """What is in the folder of a series."""

    image: Path
    version: str


def cached(series: str) -> Kernel:
    """The kernel of this series; fetched where there is none yet."""
    image, version = FOLDER / f"vmlinux-{series}", FOLDER / f"version-{series}"
    if not version.exists():
        with locked():
            fetch(series)
    return Kernel(image, version.read_text().split("=")[-1])


def refresh(series: str) -> str:
    """Fetches it where Debian has a newer one; says what there is now."""
    try:
        with locked():
            fetch(series)
            note = ""
    except CannotMake as reason:
        if not (FOLDER / f"version-{series}").exists():
            raise
        note = f" (kept from before: {reason})"
    return f"{series}: {cached(series).version}{note}"


@contextmanager
def locked() -> Iterator[None]:
    """One at a time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(series: str) -> None:
    """Puts the newest kernel of a series into the folder, unless it is there."""
    newest = find(series)
    version = FOLDER / f"version-{series}"
    if version.exists() and version.read_text() == newest:
        return
    with tempfile.TemporaryDirectory(dir=FOLDER) as work:
        image = Path(work, "vmlinux")
        image.write_bytes(decompress(unpack(newest, Path(work)).read_bytes()))
        image.replace(FOLDER / f"vmlinux-{series}")
    version.write_text(newest)


# ---- apt

def apt(*argv: str, folder: Path | None = None) -> str:
    """What a program of apt writes, in the tree of its own."""
    reason = update_lists()
    if reason:
        raise CannotMake(reason)
    return run_apt(*argv, folder=folder)


def run_apt(*argv: str, folder: Path | None = None) -> str:
    """apt() without the lists being made before."""
    result = subprocess.run(argv, env=os.environ | {"APT_CONFIG": str(FOLDER / "apt/apt.conf")},
                            cwd=folder, stdin=subprocess.DEVNULL, text=True, capture_output=True,
                            check=False)
    if result.returncode:
        lines = (result.stderr or result.stdout).strip().splitlines() or ["no reason given"]
        raise CannotMake(f"{' '.join(argv[:2])}: {lines[-1]}")
    return result.stdout


@functools.cache
def update_lists() -> str | None:
    """Makes the tree of its own, once in a run; the reason where that was not possible."""
    tree = FOLDER / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    (tree / "status").touch()
    (tree / "sources.list").write_text("".join(sources()))
    # How the machine's apt reaches its mirror; of the rest of its configuration nothing.
    reach = re.findall(r"^Acquire::https?::.*;$", command(["apt-config", "dump"]), re.MULTILINE)
    (tree / "apt.conf").write_text("\n".join([
        *reach, 'Dir::Etc::main "/dev/null";', 'Dir::Etc::parts "/dev/null";',
        f'Dir::State "{tree}";', f'Dir::State::status "{tree}/status";',
        f'Dir::Cache "{tree}/cache";', f'Dir::Etc::sourcelist "{tree}/sources.list";',
        'Dir::Etc::sourceparts "/dev/null";',
        'Dir::Etc::preferences "/dev/null";', 'Dir::Etc::preferencesparts "/dev/null";',
        'APT::Architecture "amd64";', 'APT::Architectures "amd64";', 'APT::Sandbox::User "";',
        'Acquire::Languages "none";', 'Acquire::GzipIndexes "true";',
        'Acquire::Check-Valid-Until "false";',
        'APT::Update::Error-Mode "any";', ""]))
    try:
        run_apt("apt-get", "update")
    except CannotMake as reason:
        return str(reason)
    return None


def sources() -> Iterator[str]:
    """The suites, from the archives that the machine itself uses."""
    security = command(["apt-get", "indextargets", "--format", "$(REPO_URI)",
                        "Created-By: Packages", "Origin: Debian", "Label: Debian-Security"]).split()
    for archive, suites in ((mirror(), SUITES), *((archive, SECURED) for archive in security[:1])):
        for suite in suites:
            yield f"deb [signed-by={KEYRING}] {archive} {suite} main\n"


def find(series: str) -> str:
    """The package with the kernel, as NAME=VERSION."""
    meta = f"linux-image-{FLAVOUR}"
    of_series = [version for version in versions(meta) if version.startswith(f"{series}.")]
    if of_series:
        return latest(depended(f"{meta}={of_series[0]}", rf"linux-image-\d\S*-{FLAVOUR}"))
    names = [name for name in apt("apt-cache", "pkgnames", f"linux-image-{series}.").split()
             if name.endswith(f"-{FLAVOUR}")]
    if not names:
        raise CannotMake(f"no suite has a kernel {series}")
    newest = max(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    return latest(newest)


def versions(name: str) -> list[str]:
    """Of this package, the highest first."""
    return [line.split("|")[1].strip() for line in apt("apt-cache", "madison", name).splitlines()]


def latest(name: str) -> str:
    """This package in its highest version."""
    for version in versions(name):
        return f"{name}={version}"
    raise CannotMake(f"no suite has the package {name}")


def depended(package: str, pattern: str) -> str:
    """The first package of such a name that it depends on."""
    depends = re.search(r"^Depends: (.*)$", apt("apt-cache", "show", package), re.MULTILINE)
    found = depends and re.search(rf"(?<!\S){pattern}", depends[1])
    if not found:
        raise CannotMake(f"{package} depends on no package with a kernel")
    return found[0]


def unpack(package: str, work: Path) -> Path:
    """The vmlinuz of a package, or of the one that it has it from."""
    while True:
        apt("apt-get", "download", package, folder=work)
        deb, = work.glob("*.deb")
        command(["dpkg-deb", "--extract", str(deb), str(work)])
        deb.unlink()
        for vmlinuz in work.rglob("vmlinuz*"):
            return vmlinuz
        package = depended(package, r"linux-binary-\S*\d")


def decompress(vmlinuz: bytes) -> bytes:
    """The ELF file inside, which boots sooner; see boot.rst of the kernel's x86 documentation."""
    setup_sectors = vmlinuz[0x1F1]
    offset, length = struct.unpack_from("<II", vmlinuz, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = vmlinuz[start:start + length - 4]  # less its size, which is no part of the stream
    for magic, tool in COMPRESSED.items():
        if payload.startswith(magic):
            return subprocess.run([tool, "-dcq"], input=payload, stdout=subprocess.PIPE,
                                  check=True).stdout
    raise CannotMake(f"a kernel is compressed in a way not known here: {payload[:6].hex()}")


def main(arguments: list[str]) -> int:
    """Exit status 77 where none can be had; of which one cannot, the guests are skipped."""
    missing = 0
    wanted = arguments or SERIES
    for series in wanted:
        try:
            print(refresh(series), flush=True)
        except CannotMake as reason:
            print(f"SKIPPED {series}: no kernel can be had: {reason}", flush=True)
            missing += 1
    return 77 if missing == len(wanted) else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
