# SPDX-License-Identifier: MIT
"""What guests boot: a Debian tree for each version of systemd, and on top of it a layer with the
project installed.

A tree is shared by all build folders, a layer belongs to one. Both are made once and kept until
what they are made of changes; a guest holds a shared lock on what it runs on, so that nobody makes
it anew below it.
"""

import fcntl
import hashlib
import inspect
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

SUITES = {"252": "bookworm", "257": "trixie"}

# Of each tree. The daemon's libraries, and what the scenarios run.
PACKAGES = (
    "systemd", "systemd-sysv", "dbus",         # what is booted
    "libbpf1", "libelf1", "zlib1g", "libjansson4", "libsystemd0",  # what the daemon is linked with
    "init-system-helpers",                     # what the package's own scripts call
    "rpm",                                     # installs the other package
    "python3",                                 # the scenarios
    "libglib2.0-bin",                          # gdbus
    "less",                                    # the client's pager
    "jq", "libsystemd-dev",                    # what docs/subscribing.md prints: runs, is built
    "libstdc++6",                              # .NET runtimes
)
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

# What no scenario needs, and what would make a boot longer or its end uncertain.
MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer",
    "e2scrub_reap.service", "fstrim.timer", "getty.target", "console-getty.service",
    "logrotate.timer", "motd-news.timer", "systemd-tmpfiles-clean.timer",
)
# In a sanitizer build. LeakSanitizer looks for leaks at the daemon's end: it stops the daemon's
# threads with ptrace, which no sandboxed service may call.
SANITIZER_DROP_IN = "[Service]\nSystemCallFilter=ptrace\n"


class CannotMake(Exception):
    """A command that failed; where a tree is made, this says what the machine lacks."""


def command(argv: Sequence[str], **env: str) -> str:
    """What a command writes; CannotMake with its last line where it fails."""
    result = subprocess.run(argv, env=os.environ | env, stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode:
        print(result.stdout)
        lines = result.stdout.strip().splitlines() or [f"status {result.returncode}"]
        raise CannotMake(f"{argv[0]}: {lines[-1]}")
    return result.stdout


@contextmanager
def kept(folder: Path, stamp: str, make: Callable[[Path], None]) -> Iterator[Path]:
    """The folder, made from what the stamp names, and locked against being made anew."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    written = folder.with_name(f"{folder.name}.stamp")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        while True:
            fcntl.flock(lock, fcntl.LOCK_SH)
            if written.exists() and written.read_text() == stamp:
                break
            fcntl.flock(lock, fcntl.LOCK_EX)  # not at once: somebody may make it in between
            if written.exists() and written.read_text() == stamp:
                continue
            written.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            written.write_text(stamp)
        yield folder


# ---- trees

def tree(folder: Path, version: str) -> AbstractContextManager[Path]:
    """The tree with this version of systemd, below the folder of all trees."""
    stamp = "\n".join([*PACKAGES, *MASKED, inspect.getsource(make_tree)])
    return kept(folder / SUITES[version], stamp, lambda path: make_tree(path, SUITES[version]))


def make_tree(path: Path, suite: str) -> None:
    """From the mirror that apt uses on this machine."""
    command(["mmdebstrap", "--mode=root", "--variant=minbase", "--format=directory", "--quiet",
             f"--include={','.join(PACKAGES)}", *proxies(), suite, str(path),
             f"deb [signed-by={KEYRING}] {mirror()} {suite} main"])
    command(["chroot", str(path), "systemctl", "mask", *MASKED], SYSTEMD_OFFLINE="1")
    (path / "etc/hostname").write_text("guest\n")
    # Without one, a boot would be the first and enable whatever there is.
    (path / "etc/machine-id").write_text(hashlib.md5(suite.encode()).hexdigest() + "\n")


def mirror() -> str:
    """Where apt on this machine gets Debian from; Debian's own mirror where it does not tell."""
    known = command(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                     "Origin: Debian", "Label: Debian"]).split()
    return known[0] if known else "http://deb.debian.org/debian"


def proxies() -> list[str]:
    """How apt on this machine gets there."""
    dump = command(["apt-config", "dump"])
    return [f"--aptopt={line}"
            for line in re.findall(r"^(Acquire::https?::.*Proxy.* \".+\");$", dump, re.MULTILINE)]


# ---- layers

def layer(build: Path, version: str, tree: Path) -> AbstractContextManager[Path]:
    """What the install of this build folder adds to the tree."""
    stamp = digest([Path(__file__), tree.with_name(f"{tree.name}.stamp"), *products(build)])
    return kept(build / "layers" / version, stamp, lambda path: make_layer(path, build, tree))


def products(build: Path) -> list[Path]:
    """All that is installed, wherever in the checkout or the build folder it comes from."""
    script = [path.read_text() for path in build.rglob("cmake_install.cmake")]
    names = {name for text in script for name in re.findall(r'"(/[^"$]+)"', text)}
    return sorted(path for path in map(Path, names) if path.is_file())


def digest(files: Sequence[Path]) -> str:
    """Changes with any of these files."""
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file} ".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def make_layer(path: Path, build: Path, tree: Path) -> None:
    """Installs into the tree with an empty layer on top, and keeps the layer."""
    with overlaid([tree]) as (root, upper):
        install(root, build)
        add_sanitizers(root)
        shutil.rmtree(path, ignore_errors=True)
        command(["cp", "-a", str(upper), str(path)])  # with the marks of removed files


def install(root: Path, build: Path) -> None:
    """The one place that says how the project comes into a guest."""
    command(["cmake", "--install", str(build)], DESTDIR=str(root))
    for argv in (["systemd-sysusers"], ["journalctl", "--update-catalog"],
                 ["systemctl", "enable", "dotnet-discoveryd.service"]):
        command(["chroot", str(root), *argv], SYSTEMD_OFFLINE="1")


def add_sanitizers(root: Path) -> None:
    """What a sanitizer build needs beside the package."""
    linked = command(["ldd", str(root / "usr/sbin/dotnet-discoveryd")])
    libraries = re.findall(r"lib\w*san\.so\S* => (\S+)", linked)
    if not libraries:
        return
    for library in libraries:  # those of the compiler that built it, not of the tree's
        shutil.copy(library, root / "usr/lib" / Path(library).parent.name)
    command(["chroot", str(root), "ldconfig"])
    drop_in = root / "etc/systemd/system/dotnet-discoveryd.service.d/sanitizer.conf"
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text(SANITIZER_DROP_IN)


@contextmanager
def overlaid(lower: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """A root of these folders, the first on top, and the folder that takes what is written to it.

    In memory, and in the caller's mount namespace.
    """
    work = Path("/run/overlaid")
    work.mkdir()
    command(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(work)])
    for name in ("upper", "work", "root"):
        (work / name).mkdir()
    root = work / "root"
    options = f"lowerdir={':'.join(map(str, lower))},upperdir={work}/upper,workdir={work}/work"
    command(["mount", "-t", "overlay", "-o", options, "overlay", str(root)])
    try:
        yield root, work / "upper"
    finally:
        command(["umount", str(root)])
        command(["umount", str(work)])
        work.rmdir()
