# SPDX-License-Identifier: MIT
"""What is in the packages: which files, whose they are and who may read them."""

import gzip
import io
import re
import subprocess
import tarfile
import unittest
from pathlib import Path

from lib import packages
from lib.packages import CHECKOUT, DEB, NAME, NEXT_DEB, NEXT_RPM, PROGRAMS, RPM, VERSION, run


def members(deb: Path, part: str = "--fsys-tarfile") -> dict[str, tarfile.TarInfo]:
    """The files or, with --ctrl-tarfile, the control files of a deb by path."""
    data = subprocess.run(["dpkg-deb", part, deb], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name.removeprefix("./"): member for member in tar}


def read(deb: Path, path: str, part: str = "--fsys-tarfile") -> bytes:
    """One file of a deb."""
    data = subprocess.run(["dpkg-deb", part, deb], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return tar.extractfile(f"./{path}").read()


def below_usr(*parts: set[str]) -> set[str]:
    """These files as the packages have them: manual pages are compressed."""
    return {f"usr/{path}" + (".gz" if path.startswith("share/man/") else "")
            for part in parts for path in part}


class Deb(unittest.TestCase):
    """The package for Debian."""

    def test_it_has_these_files(self) -> None:
        files = {path for path, member in members(DEB).items() if not member.isdir()}
        self.assertEqual(files, below_usr(packages.INSTALLED, packages.DEB_ONLY))

    def test_all_is_roots_and_open_to_everybody_whatever_the_umask_was(self) -> None:
        for deb in DEB, NEXT_DEB:
            for path, member in members(deb).items():
                self.assertEqual((member.uname, member.gname), ("root", "root"), path)
                runnable = member.isdir() or path in PROGRAMS
                self.assertEqual(member.mode, 0o755 if runnable else 0o644, path)

    def test_its_scripts_are_those_that_dpkg_runs(self) -> None:
        control = members(DEB, "--ctrl-tarfile")
        self.assertEqual({path for path, member in control.items() if member.isfile()},
                         {"control", "md5sums", "postinst", "prerm", "postrm"})
        for script in "postinst", "prerm", "postrm":
            self.assertEqual(control[script].mode, 0o755)

    def test_its_fields(self) -> None:
        text = run("dpkg-deb", "--field", DEB)
        fields = dict(re.findall(r"^([A-Z]\S*): (.*)$", text, re.MULTILINE))
        self.assertEqual(fields["Package"], NAME)
        self.assertEqual(fields["Version"], f"{VERSION}-1")
        for library in "libbpf1", "libc6", "libjansson4", "libsystemd0":
            self.assertRegex(fields["Depends"], rf"\b{library} \(>= ")
        self.assertIn("systemd | systemd-standalone-sysusers", fields["Depends"])
        self.assertEqual(fields["Recommends"], "default-dbus-system-bus | dbus-system-bus")

    def test_its_changelog_begins_with_its_version(self) -> None:
        text = gzip.decompress(read(DEB, f"usr/share/doc/{NAME}/changelog.Debian.gz")).decode()
        self.assertTrue(text.startswith(f"{NAME} ({VERSION}-1) "), text[:80])

    def test_lintian_finds_no_error_and_no_warning(self) -> None:
        result = subprocess.run(
            ["lintian", "--no-cfg", "--allow-root", "--fail-on=error,warning", "--info", DEB],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)


class Rpm(unittest.TestCase):
    """The package for Fedora, openSUSE and the like."""

    def query(self, *options: str, rpm: Path = RPM) -> list[str]:
        # With a database of its own: rpm of Debian makes one in the home folder otherwise.
        database = CHECKOUT / "build" / "package" / "rpmdb"
        return run("rpm", f"--dbpath={database}", "--query", "--package", *options,
                   rpm).splitlines()

    def test_it_has_these_files_and_no_folder_of_another_package(self) -> None:
        files = {path.replace("zsh/vendor-completions", "zsh/site-functions")
                 for path in below_usr(packages.INSTALLED, packages.RPM_ONLY)}
        own = {f"usr/share/{kind}/{NAME}" for kind in ("doc", "licenses")}
        self.assertEqual({path.removeprefix("/") for path in self.query("--list")}, files | own)

    def test_all_is_roots_and_open_to_everybody_whatever_the_umask_was(self) -> None:
        form = r"[%{FILEMODES:octal} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILENAMES}\n]"
        for rpm in RPM, NEXT_RPM:
            for line in self.query("--queryformat", form, rpm=rpm):
                mode, user, group, path = line.split(" ", 3)
                self.assertEqual((user, group), ("root", "root"), path)
                kind, mode = divmod(int(mode, 8), 0o10000)
                runnable = kind == 0o4 or path.removeprefix("/") in PROGRAMS
                self.assertEqual(mode, 0o755 if runnable else 0o644, path)

    def test_documentation_and_licence_are_marked(self) -> None:
        documents = {f"/{path}" for path in below_usr(packages.INSTALLED)
                     if path.startswith(("usr/share/doc/", "usr/share/man/"))}
        marked = self.query("--docfiles")
        self.assertEqual(documents, set(marked) - {f"/usr/share/doc/{NAME}"})
        self.assertEqual(self.query("--licensefiles"), [f"/usr/share/licenses/{NAME}/LICENSE"])

    def test_its_fields(self) -> None:
        form = r"%{NAME} %{VERSION} %{RELEASE} %{ARCH}|%{LICENSE}|%{PREFIXES}|%{BUILDHOST}\n"
        fields = self.query("--queryformat", form)[0].split("|")
        self.assertEqual(fields[0], f"{NAME} {VERSION} 1 x86_64")
        self.assertEqual(fields[1:3], ["MIT AND (MIT OR GPL-2.0-only)", "(none)"])
        self.assertEqual(self.query("--recommends"), ["dbus"])
        self.assertEqual(self.query("--provides"),
                         [f"{NAME} = {VERSION}-1", f"{NAME}(x86-64) = {VERSION}-1"])
        required = self.query("--requires")
        for library in "libbpf.so.1", "libc.so.6", "libjansson.so.4", "libsystemd.so.0":
            self.assertIn(f"{library}()(64bit)", required)
        self.assertIn("systemd", required)

    def test_its_scripts_are_plain_sh(self) -> None:
        scripts = "\n".join(self.query("--scripts"))
        self.assertEqual(re.findall(r"^(\w+) scriptlet \(using /bin/sh\):$", scripts, re.MULTILINE),
                         ["postinstall", "preuninstall", "postuninstall"])
        self.assertNotIn("%", scripts)
