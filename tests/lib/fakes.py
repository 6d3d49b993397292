# SPDX-License-Identifier: MIT
"""Fake .NET processes for tests in which the process does not matter, only what is told of it."""

import itertools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lib.child import Child
from lib.require import require

PROGRAM = Path(__file__).with_name("fake_runtime.py")
BATCH = 200  # of fakes that one order makes, so that each order has a deadline of its own

_numbers = itertools.count()


class Fakes(Child):
    """A process that forks fakes and ends them; none outlives the context.

    Tests run beside others, whose processes the daemon sees too: `assembly` is the entry assembly
    of these fakes and of no others. The arguments given stand at the end of every fake's own.
    """

    def __init__(self, *arguments: str | bytes):
        self.assembly = f"Fake-{os.getpid()}-{next(_numbers)}"
        self.folder = Path(tempfile.mkdtemp(prefix="discovery-"))
        self.folder.chmod(0o777)  # a fake may be another user
        super().__init__([sys.executable, "-I", "-S", str(PROGRAM), *arguments])

    def __exit__(self, *failure: object) -> None:
        super().__exit__(*failure)
        shutil.rmtree(self.folder, ignore_errors=True)

    def spawn(self, count: int, *, uid: int | None = None, command: str | None = None,
              cgroups: Sequence[Path] = (), assembly: str | None = None,
              version: str = "10.0.5", listens: bool = True, answers: bool = True,
              mapping_uid: int | None = None) -> list[int]:
        """Makes so many; their mappings are there when it returns.

        Without `answers` they keep silent until release(); without `listens` there is only the
        mapping. With `mapping_uid` that is the effective uid while it listens and maps, and no
        longer.
        """
        options = {"folder": str(self.folder), "uid": uid, "command": command,
                   "cgroups": [str(path) for path in cgroups], "version": version,
                   "assembly": assembly or self.assembly, "listens": listens, "answers": answers,
                   "mapping_uid": mapping_uid}
        pids: list[int] = []
        while len(pids) < count:
            pids += self._order("spawn", count=min(BATCH, count - len(pids)), **options)
        return pids

    def spawn_one(self, **options: Any) -> int:
        """Makes one."""
        return self.spawn(1, **options)[0]

    def release(self, *pids: int) -> None:
        """Lets silent ones answer."""
        self._order("release", pids=pids)

    def end(self, *pids: int) -> None:
        """Kills these, and waits until they are no more."""
        for start in range(0, len(pids), BATCH):
            self._order("end", pids=pids[start:start + BATCH])

    def _order(self, what: str, **order: Any) -> list[int]:
        self.process.stdin.write(json.dumps({"do": what} | order).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.read_line())


@contextmanager
def cgroup(name: str) -> Iterator[list[Path]]:
    """A new cgroup of this name, in each hierarchy that may say which unit a process belongs to.

    Yields the files that take a process in. Leave it after the fakes.
    """
    made: list[Path] = []
    try:
        for top in map(Path("/sys/fs/cgroup").joinpath, (".", "unified", "systemd")):
            if not (top / "cgroup.procs").exists():
                continue
            try:
                (top / name).mkdir()
            except OSError as error:
                require(False, f"no cgroup can be made: {error}")
            made.append(top / name)
        require(made, "there is no cgroup hierarchy to make a cgroup in")
        yield [path / "cgroup.procs" for path in made]
    finally:
        for path in made:
            path.rmdir()
