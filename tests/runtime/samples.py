#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the .NET programs that the runtime tests start: samples.py [FOLDER].

FOLDER (default: $DISCOVERY_SAMPLES, else build/samples) gets one folder for each, and samples.json:

    NAME: {"stamp", "kind", "folder", "argv", "runtimeVersion", "entryAssembly"}   what can be run
    NAME: {"stamp", "reason"}                                            or why it can not

argv has the whole path of `folder`, where the program is; lib.built reads this.

A program that could not be built skips the tests that need it; it fails nothing here. What was
built from the same sources by the same SDK is kept, so that a second run costs a second.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "samples"
DEFAULT_FOLDER = HERE.parents[1] / "build" / "samples"
TOOLS_VERSION = "10.0.750501"

# A build server is a .NET process too, with a diagnostic port: it would show up in the tests.
ENVIRONMENT = os.environ | {
    "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
    "DOTNET_CLI_USE_MSBUILD_SERVER": "0",
    "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
    "DOTNET_NOLOGO": "1",
    "MSBUILDDISABLENODEREUSE": "1",
}

Entry = dict[str, Any]


class CannotBuild(Exception):
    """Why a program is not there."""


class Program(NamedTuple):
    """One program: how it comes to be, and the file in its folder that is run."""

    kind: str
    file: str
    project: str = "App"
    options: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()  # options of a second build, whose program replaces the first's
    runtime: str | None = None  # a version that must be this one; else what the SDK brings

    def commands(self, folder: Path, scratch: Path) -> Iterator[list[str]]:
        """What puts it into the folder."""
        if self.kind == "tool":
            yield ["dotnet", "tool", "install", self.file, "--version", TOOLS_VERSION,
                   "--tool-path", str(folder)]
        elif self.kind == "server":
            yield ["npm", "install", "--prefix", str(folder), "--no-save", "--ignore-scripts",
                   "--no-audit", "--no-fund", self.project]
        else:
            publish = ["dotnet", "publish", str(SOURCES / self.project), "-nologo", "-v", "quiet",
                       "-c", "Release", "-o", str(folder), "--artifacts-path"]
            runtime = [f"-p:RuntimeFrameworkVersion={self.runtime}"] if self.runtime else []
            yield [*publish, str(scratch / "first"), *self.options, *runtime]
            if self.replaced:
                yield [*publish, str(scratch / "second"), *self.replaced]

    def argv(self, folder: Path) -> list[str]:
        """What runs it."""
        file = str(folder / self.file)
        if self.kind == "server":
            return ["env", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1",
                    f"DOTNET_BUNDLE_EXTRACT_BASE_DIR={folder}/extracted",
                    "AZURE_MCP_COLLECT_TELEMETRY=false", file, "server", "start"]
        return ["dotnet", file] if file.endswith(".dll") else [file]


def server(runtime: str, version: str) -> Program:
    """A program that somebody ships with a runtime of 10.0 that NuGet has no more."""
    package = "@azure/mcp-linux-x64"
    return Program("server", f"node_modules/{package}/dist/azmcp", project=f"{package}@{version}",
                   runtime=runtime)


SELF_CONTAINED = ("-r", "linux-x64", "--self-contained")
PROGRAMS = {
    "framework-dependent": Program("framework-dependent", "App.dll"),
    # Those before 10.0.5 have no mapping. The SDK knows how to build for 8, but not for 3.1, which
    # runs what is built for every runtime.
    "self-contained-3": Program("self-contained", "App", runtime="3.1.3",
                                options=(*SELF_CONTAINED, "-p:SampleFramework=net8.0",
                                         "-p:DisableTransitiveFrameworkReferenceDownloads=true"),
                                replaced=("-p:SampleFramework=netstandard2.0",
                                          "-p:GenerateDependencyFile=false")),
    "self-contained-8": Program("self-contained", "App", runtime="8.0.34",
                                options=(*SELF_CONTAINED, "-p:SampleFramework=net8.0")),
    "self-contained-9": Program("self-contained", "App", runtime="9.0.23",
                                options=(*SELF_CONTAINED, "-p:SampleFramework=net9.0")),
    "server-10.0.3": server("10.0.3", "2.0.0-beta.20"),
    "server-10.0.5": server("10.0.5", "2.0.0"),
    "self-contained-10": Program("self-contained", "App", runtime="10.0.15",
                                 options=SELF_CONTAINED),
    # Built against 10, as the SDK knows no 11, and run by it.
    "self-contained-11": Program("self-contained", "App", runtime="11.0.0",
                                 options=SELF_CONTAINED),
    "single-file": Program("single-file", "App", runtime="10.0.15",
                           options=(*SELF_CONTAINED, "-p:PublishSingleFile=true")),
    # Has a diagnostic port only with event sources.
    "native-aot": Program("native-aot", "App", options=("-r", "linux-x64", "-p:PublishAot=true",
                                                        "-p:EventSourceSupport=true")),
    "client": Program("client", "Client.dll", project="Client"),
    "dotnet-trace": Program("tool", "dotnet-trace"),
    "dotnet-counters": Program("tool", "dotnet-counters"),
}


def main(arguments: list[str]) -> None:
    """Brings the folder up to date."""
    folder = Path(*arguments or [os.environ.get("DISCOVERY_SAMPLES", DEFAULT_FOLDER)]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several build types share one folder
        update(folder)


def update(folder: Path) -> None:
    """Builds what is missing or out of date, and tells of each program."""
    index = folder / "samples.json"
    before = json.loads(index.read_text()) if index.exists() else {}
    stamp = current_stamp()

    def entry_of(name: str, scratch: Path) -> Entry:
        kept = before.get(name, {})
        if kept.get("stamp") == stamp and Path(kept.get("folder", "")).is_dir():
            return kept
        try:
            return {"stamp": stamp} | build(PROGRAMS[name], folder / name, scratch / name)
        except (CannotBuild, subprocess.TimeoutExpired) as error:
            return {"stamp": stamp, "reason": str(error)}

    with (tempfile.TemporaryDirectory(prefix="discovery-") as scratch,
          ThreadPoolExecutor(os.cpu_count()) as pool):
        # The SDK leaves folders behind in TMPDIR, and NuGet's locks there keep builds apart.
        ENVIRONMENT["TMPDIR"] = scratch
        entries = dict(zip(PROGRAMS, pool.map(entry_of, PROGRAMS, repeat(Path(scratch)))))
    index.write_text(json.dumps(entries, indent=2) + "\n")
    for name, entry in entries.items():
        print(f"{name}: {entry.get('reason') or ' '.join(entry['argv'])}")


def current_stamp() -> str:
    """Changes with the sources, this script and the SDK."""
    digest = hashlib.sha256()
    for path in [Path(__file__), *sorted(SOURCES.rglob("*.*"))]:
        digest.update(path.read_bytes())
    try:
        digest.update(run(["dotnet", "--version"]).encode())
    except CannotBuild:
        pass  # build() will say so
    return digest.hexdigest()


def build(program: Program, folder: Path, scratch: Path) -> Entry:
    """Builds one program and, where it is a sample, lets it run once."""
    shutil.rmtree(folder, ignore_errors=True)
    for command in program.commands(folder, scratch):
        run(command)
    entry: Entry = {"kind": program.kind, "folder": str(folder), "argv": program.argv(folder)}
    if program.kind == "server":
        run(entry["argv"])  # unpacks what it has in itself
        entry |= {"runtimeVersion": program.runtime, "entryAssembly": "azmcp"}
    elif program.kind not in ("client", "tool"):
        version = run(entry["argv"]).split()[-1]
        if program.runtime not in (None, version):
            raise CannotBuild(f"runs on {version}, not {program.runtime}")
        entry |= {"runtimeVersion": version, "entryAssembly": program.project}
    return entry


def run(argv: list[str]) -> str:
    """The output of a command that ends well; its first error as CannotBuild otherwise."""
    if not shutil.which(argv[0]):
        raise CannotBuild("no dotnet SDK" if argv[0] == "dotnet" else f"{argv[0]} is not there")
    result = subprocess.run(argv, env=ENVIRONMENT, stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240,
                            cwd=SOURCES, check=False)
    if result.returncode:
        lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
        print(*lines, sep="\n", file=sys.stderr)
        errors = [line for line in lines if "error" in line.lower()] or lines
        raise CannotBuild(errors[0] if errors else f"{argv[0]} ended with {result.returncode}")
    return result.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
