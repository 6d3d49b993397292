# SPDX-License-Identifier: MIT
"""The initramfs of a small guest: busybox, Python, the project's programs and these tests.

Every file stands where it stands on the machine, the checkout and the build folder included, so
that nothing in the guest needs to know that it is one. Of Python's library there is what the
scenarios import, of the machine's libraries what the programs need.
"""

import compileall
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]

PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
TOOLS = ("setpriv", "prlimit")  # beside busybox, whose own can less
LIST_MODULES = """
import importlib, json, os, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
files = [file for module in list(sys.modules.values())
         for file in (getattr(module, "__file__", None), getattr(module, "__cached__", None))
         if file and os.path.exists(file)]
print(json.dumps(files))
"""


def make(image: Path, build: Path, samples: Path, work: Path) -> None:
    """Writes the image, with what is built in that folder; the work folder becomes its root."""
    python = Path(sys.executable).resolve()
    programs = [build / "dotnet-discoveryd", build / "dotnet-discoveryctl",
                *sorted((build / "tests").glob("*_bpf_test")),
                *(file for file in [build / "tests/deny", build / "tests/guard_programs"]
                  if file.exists()),
                python, *map(tool, TOOLS), *sample(samples)]
    modules = list(map(Path, modules_of(python)))
    extensions = [file for file in modules if ".so" in file.suffixes]
    add(work, [*programs, *modules, *libraries([*programs, *extensions]), *ours()])
    compileall.compile_dir(str(work) + str(CHECKOUT), quiet=1)
    shutil.copy(tool("busybox"), work / "busybox")
    shutil.copy(HERE / "init.sh", work / "init")
    (work / "init").chmod(0o755)
    found = environment(build, samples, python).items()
    (work / "environment").write_text("".join(f"export {name}='{value}'\n"
                                              for name, value in found))
    pack(work, image, owner=["--owner=0:0"])


def environment(build: Path, samples: Path, python: Path) -> dict[str, str]:
    """What the guest's programs find in theirs."""
    tools = {str(Path(tool(name)).parent) for name in TOOLS}
    return {"PYTHON": str(python), "INSIDE": str(HERE / "inside.py"),
            "DISCOVERYD": f"{build}/dotnet-discoveryd",
            "DISCOVERYCTL": f"{build}/dotnet-discoveryctl",
            "DISCOVERY_BUILD": str(build), "DISCOVERY_SAMPLES": str(samples),
            # Nothing here is fast, and another guest may run beside it.
            "DISCOVERY_TIMEOUT": "60", "TMPDIR": "/tmp", "PYTHONUNBUFFERED": "1",
            "PATH": ":".join([*sorted(tools), "/bin"])}


def tool(name: str) -> Path:
    """Where a program is."""
    return Path(shutil.which(name, path=PATH))


def why_not() -> str | None:
    """The reason why no guest can be made on this machine."""
    if platform.machine() != "x86_64":
        return "the guests are x86-64, which this machine is not"
    for name in ("qemu-system-x86_64", "busybox", "cpio", *TOOLS):
        if not shutil.which(name, path=PATH):
            return f"{name} is not installed"
    return None


def sample(samples: Path) -> list[Path]:
    """The .NET program that needs no file beside it, and the index of all; where it was built."""
    index = samples / "samples.json"
    entry = json.loads(index.read_text())["native-aot"] if index.exists() else {}
    return [Path(entry["argv"][0]), index] if "argv" in entry else []


def ours() -> Iterator[Path]:
    """Of the checkout: the scenarios, what they share, and the files that they read."""
    for folder in ("tests/lib", "tests/vm", "tests/system", "tests/guard", "include"):
        yield from (file for file in (CHECKOUT / folder).iterdir()
                    if file.suffix in (".py", ".h", ".xml", ".varlink", ".txt"))


def modules_of(python: Path) -> list[str]:
    """The files of every module that the scenarios import, with those that these do."""
    names = ["inside", "test_kernel", *(file.stem for file in HERE.glob("test_*.py"))]
    folders = [HERE, *(CHECKOUT / folder for folder in ("tests", "tests/lib", "tests/guard"))]
    env = os.environ | {"PYTHONPATH": ":".join(map(str, folders)),
                        "DISCOVERY_BUILD": "/", "DISCOVERY_SAMPLES": "/"}
    return json.loads(subprocess.run([python, "-B", "-c", LIST_MODULES, *names], env=env,
                                     check=True, stdout=subprocess.PIPE, text=True).stdout)


def libraries(programs: Iterable[Path]) -> set[Path]:
    """What the dynamic linker loads for them."""
    found: set[Path] = set()
    for program in programs:
        result = subprocess.run(["ldd", str(program)], stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.DEVNULL, check=False)
        found |= set(map(Path, re.findall(r"(/\S+) \(0x", result.stdout)))
    return found


def add(work: Path, files: Sequence[Path]) -> None:
    """Copies each to its place, with the time at which it was changed; by its links' names too."""
    for file in files:
        target = Path(f"{work}{file}")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)


def pack(root: Path, image: Path, left_out: Sequence[str] = (), owner: Sequence[str] = ()) -> None:
    """All below root but what is left out, as the kernel unpacks it.

    Uncompressed, since the guest is slower than we are.
    """
    find = ["find", ".", *(word for path in left_out for word in
                           ("-path", f"./{path}", "-prune", "-o")), "-print0"]
    with image.open("wb") as output, subprocess.Popen(find, cwd=root,
                                                      stdout=subprocess.PIPE) as found:
        subprocess.run(["cpio", "--null", "--create", "--format=newc", "--quiet", *owner],
                       cwd=root, stdin=found.stdout, stdout=output, check=True)
