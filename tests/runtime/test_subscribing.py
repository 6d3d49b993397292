# SPDX-License-Identifier: MIT
"""The programs of docs/subscribing.md that collect from a process: through the port that the daemon
names, since the process has a /tmp of its own.
"""

import json
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

import programs
from lib import printed
from lib.child import Child
from lib.daemon import DISCOVERYCTL
from lib.fakes import cgroup
from lib.require import require_tool
from lib.stage import Stage
from samples import ENVIRONMENT

UNIT = "discovery-shop.service"
# What a service manager does for a unit with PrivateTmp=yes: FILE... -- PROGRAM...
AS_UNIT = """
while [ "$1" != -- ]; do echo 0 >"$1"; shift; done
shift
mount -t tmpfs tmpfs /tmp
exec "$@"
"""


class Profilers(Stage):

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        *runner, program = programs.program("framework-dependent")["argv"]
        copy = Path("/run/sample")  # its folder may lie below the /tmp that it does not see
        shutil.copytree(Path(program).parent, copy)
        cls.argv = [*runner, str(copy / Path(program).name)]

    def setUp(self) -> None:
        super().setUp()
        self.found = self.enterContext(self.daemon()).subscribe()

    def sample(self, cgroups: Sequence[Path] = ()) -> Child:
        """A .NET process with a /tmp of its own, in these cgroups."""
        environment = {name: value for name, value in programs.ENVIRONMENT.items()
                       if name != "TMPDIR"}
        return self.enterContext(
            Child(["unshare", "--mount", "sh", "-ec", AS_UNIT, "sh", *map(str, cgroups), "--",
                   *self.argv], cwd="/", env=environment))

    def test_counters_of_a_unit_are_collected(self) -> None:
        require_tool("jq")
        tools = {"dotnet-counters": programs.program("dotnet-counters")["argv"][0],
                 "dotnet-discoveryctl": DISCOVERYCTL}
        for name, file in tools.items():
            (self.folder / name).symlink_to(file)
        files = self.enterContext(cgroup(UNIT))
        path = f"{self.folder}:{os.environ['PATH']}"
        program = self.start(str(printed.program("counters.sh", self.folder)), UNIT,
                             env=programs.ENVIRONMENT | {"PATH": path})
        self.sample(files)
        self.assertEqual(program.wait(programs.TIMEOUT), 0)
        counters = json.loads((self.folder / "counters.json").read_text())
        self.assertIn("System.Runtime", {event["provider"] for event in counters["Events"]})

    def test_the_profiler_in_csharp_records_what_was_and_what_becomes_ready(self) -> None:
        printed.program("ready.cs", self.folder)
        before = self.sample()
        self.found.wait_state(before.pid, "ready")
        # Where the SDK keeps what it has built of single files.
        environment = ENVIRONMENT | {"XDG_DATA_HOME": str(self.folder)}
        program = self.start(*printed.command("dotnet run ready.cs").split(), env=environment,
                             start_new_session=True)
        self.addCleanup(os.killpg, program.pid, signal.SIGKILL)  # what runs is a child of it
        self.check(program, before)
        self.check(program, self.sample())

    def check(self, program: Child, sample: Child) -> None:
        """It has recorded this process."""
        pid, size = program.read_line(programs.TIMEOUT).removesuffix(" bytes").split(": ")
        trace = (self.folder / f"{sample.pid}.nettrace").read_bytes()
        self.assertEqual((pid, size), (str(sample.pid), str(len(trace))))
        self.assertEqual(trace[:8], b"Nettrace")
