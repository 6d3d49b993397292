# SPDX-License-Identifier: MIT
"""Real containers: engines of a test's own, with one image that has the NativeAOT sample.

An engine keeps what it writes in a folder of its own, and its containers have no network. What it
writes outside, below /run, is hidden by a tmpfs. It needs the namespaces that apart.py makes.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lib.child import Child, readable
from lib.require import require, require_root, require_tool
from programs import FOLDER, TIMEOUT, program

IMAGE = "sample"
APP = "/app/App"
SAMPLES = Path("/samples")
CGROUPS = Path("/sys/fs/cgroup")


class Container(Child):
    """A container that runs the sample. The engine's client, which this is, has its input and
    output. `pid` is that of the sample."""

    def __init__(self, argv: Sequence[str], engine: "Engine", name: str):
        super().__init__(argv)
        self.name = name
        self._engine = engine
        own_pid = self._wait_main()
        state = engine.inspect(name)
        self.id: str = state["Id"]
        self.pid = state["State"]["Pid"]
        assert own_pid == 1

    def __exit__(self, *failure: object) -> None:
        self._engine.client(*self._engine.remove, self.name)
        super().__exit__(*failure)

    def _wait_main(self) -> int:
        """The sample's own pid, as soon as its Main runs."""
        while not (told := re.match(r"ready (\d+) ", self.read_line(TIMEOUT))):
            pass  # what its runtime has to say
        return int(told[1])


class Engine:
    """An engine with the image."""

    client_argv: list[str]
    run_options: list[str] = []
    remove = ["rm", "--force"]

    def __init__(self, folder: Path):
        self.folder = folder
        self._count = 0

    def client(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> str:
        """Runs the client program to its end; what it wrote."""
        argv = [*self.client_argv, *arguments]
        result = subprocess.run(argv, stdin=stdin, text=True, capture_output=True,
                                timeout=TIMEOUT, check=False)
        assert result.returncode == 0, f"{arguments} ended with {result.returncode}: {result.stderr}"
        return result.stdout

    def inspect(self, name: str) -> dict[str, object]:
        """What the engine knows of a container."""
        return json.loads(self.client("inspect", "--type", "container", name))[0]

    def run(self, *options: str, sample: str | None = None) -> Container:
        """A new container, once its sample's Main runs: the image's, or this one from outside."""
        self._count += 1
        name = f"container{self._count}"
        argv = [APP]
        if sample:
            argv = program(sample, SAMPLES)["argv"]
            options = (*options, "--volume", f"{FOLDER.resolve()}:{SAMPLES}:ro")
        return Container([*self.client_argv, "run", "--interactive", "--network", "none", "--name",
                          name, *self.run_options, *options, IMAGE, *argv], self, name)

    def prepare(self) -> None:
        """Makes the image and tries it; skips where this machine lets no container run."""
        try:
            self._make_image()
            self.client("run", "--rm", "--network", "none", *self.run_options, IMAGE, APP)
        except AssertionError as failure:
            reason = " ".join(str(failure).split())
            require(False, f"no container can run here: {reason}")

    def _make_image(self) -> None:
        """Of the sample, the libraries that it and others need, and a /tmp."""
        root = self.folder / "root"
        app, = program("native-aot")["argv"]
        linked = [app, *program("single-file")["argv"]]
        text = subprocess.run(["ldd", *linked], capture_output=True, text=True, check=True).stdout
        libraries = set(re.findall(r"(?:=> |^\s*)(/\S+) \(", text, re.MULTILINE))
        for path, source in [(APP, app), *((library, library) for library in libraries)]:
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        (root / "tmp").mkdir()
        (root / "tmp").chmod(0o1777)
        with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar:
            self.client("import", "-", IMAGE, stdin=tar.stdout.fileno())


@contextmanager
def docker() -> Iterator[Engine]:
    """With the client that a package put there: another may be first in PATH for another daemon."""
    daemon = require_tool("dockerd")
    client = Path("/usr/bin/docker")
    require(client.exists(), f"{client} is not installed")
    with _place() as folder:
        engine = Engine(folder)
        engine.client_argv = [str(client), "--host", f"unix://{folder}/socket"]
        argv = [daemon, "--iptables=false", "--ip6tables=false", "--bridge=none",
                "--exec-opt", "native.cgroupdriver=cgroupfs", "--data-root", f"{folder}/data",
                "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid",
                "--host", f"unix://{folder}/socket"]
        with (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify,
              (folder / "log").open("w") as log):
            notify.bind(str(folder / "notify"))
            environment = os.environ | {"NOTIFY_SOCKET": f"{folder}/notify"}
            with Child(argv, env=environment, stdout=log, stderr=log) as child:
                _wait_ready(notify, child, folder / "log")
                engine.prepare()
                yield engine
                child.kill(15)
                child.wait(TIMEOUT)


def _wait_ready(notify: socket.socket, child: Child, log: Path) -> None:
    """Until it says so as a service would."""
    while True:
        ready = readable([notify, child.pidfd], TIMEOUT)
        if child.pidfd in ready:
            lines = log.read_text().splitlines()
            require(False, f"dockerd cannot run here: {lines[-1] if lines else 'no word'}")
        assert ready, f"dockerd is not ready after {TIMEOUT} s"
        if b"READY=1" in notify.recv(4096).splitlines():
            return


@contextmanager
def podman() -> Iterator[Engine]:
    """Podman with runc. With its own defaults for limits it asks for more than a container may."""
    client = require_tool("podman")
    require_tool("runc")
    with _place() as folder:
        configuration = folder / "containers.conf"
        configuration.write_text("[containers]\ndefault_ulimits = []\n"
                                 "[engine]\nevents_logger = \"none\"\n")
        engine = Engine(folder)
        engine.client_argv = [
            "env", f"CONTAINERS_CONF={configuration}", f"HOME={folder}", client,
            "--root", f"{folder}/data", "--runroot", f"{folder}/run", "--tmpdir", f"{folder}/tmp",
            "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--runtime", "runc"]
        engine.run_options = ["--ulimit", "host", "--pids-limit", "-1"]
        # A pid 1 that does not care for SIGTERM is given ten seconds otherwise.
        engine.remove = ["rm", "--force", "--time", "0"]
        engine.prepare()
        yield engine


@contextmanager
def unified() -> Iterator[None]:
    """Only the unified hierarchy of cgroups, whatever the machine has."""
    _command("mount", "-t", "cgroup2", "cgroup2", str(CGROUPS))
    try:
        yield
    finally:
        _command("umount", "--lazy", str(CGROUPS))


@contextmanager
def _place() -> Iterator[Path]:
    """A folder for an engine, and a /run of its own."""
    require_root()
    require(os.getpid() == 1, "needs namespaces of its own: run it by tests/lib/apart.py")
    _command("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    folder = Path(tempfile.mkdtemp(prefix="discovery-"))
    try:
        yield folder
    finally:
        _command("umount", "--lazy", "/run")
        shutil.rmtree(folder, ignore_errors=True)


def _command(*argv: str) -> None:
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    require(result.returncode == 0, f"{' '.join(argv)}: {result.stderr.strip()}")
