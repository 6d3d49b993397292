#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the packages that the tests look at and install, or tells where they are.

`./dev package` makes them; those of the next version, which the others are upgraded to, differ in
that alone. They are packed under a umask that hides everything from others, and must not show it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
NAME = "dotnet-discoveryd"
VERSION = re.search(r"^project\(\S+ VERSION ([0-9.]+)", (CHECKOUT / "CMakeLists.txt").read_text(),
                    re.MULTILINE)[1]
NEXT_VERSION = re.sub(r"\d+$", lambda last: str(int(last[0]) + 1), VERSION)

FOLDER = CHECKOUT / "build" / "packages"
NEXT_FOLDER = CHECKOUT / "build" / "package" / "next"
DEB = FOLDER / f"{NAME}_{VERSION}-1_amd64.deb"
RPM = FOLDER / f"{NAME}-{VERSION}-1.x86_64.rpm"
NEXT_DEB = NEXT_FOLDER / f"{NAME}_{NEXT_VERSION}-1_amd64.deb"
NEXT_RPM = NEXT_FOLDER / f"{NAME}-{NEXT_VERSION}-1.x86_64.rpm"

# What `cmake --install` puts below the prefix, on Debian.
INSTALLED = {
    "bin/dotnet-discoveryctl",
    "lib/systemd/catalog/dotnet-discoveryd.catalog",
    "lib/systemd/system/dotnet-discoveryd.service",
    "lib/systemd/system/dotnet-discoveryd.socket",
    "lib/sysusers.d/dotnet-discoveryd.conf",
    "sbin/dotnet-discoveryd",
    "share/bash-completion/completions/dotnet-discoveryctl",
    "share/bash-completion/completions/dotnet-discoveryd",
    "share/dbus-1/interfaces/org.dotnetdiscovery1.Manager.xml",
    "share/dbus-1/system-services/org.dotnetdiscovery1.service",
    "share/dbus-1/system.d/org.dotnetdiscovery1.conf",
    "share/doc/dotnet-discoveryd/installing.md",
    "share/doc/dotnet-discoveryd/security.md",
    "share/doc/dotnet-discoveryd/subscribing.md",
    "share/fish/vendor_completions.d/dotnet-discoveryctl.fish",
    "share/fish/vendor_completions.d/dotnet-discoveryd.fish",
    "share/man/man1/dotnet-discoveryctl.1",
    "share/man/man5/org.dotnetdiscovery1.5",
    "share/man/man7/org.dotnetdiscovery.Manager.7",
    "share/man/man8/dotnet-discoveryd.8",
    "share/man/man8/dotnet-discoveryd.service.8",
    "share/man/man8/dotnet-discoveryd.socket.8",
    "share/zsh/vendor-completions/_dotnet-discoveryctl",
    "share/zsh/vendor-completions/_dotnet-discoveryd",
}
# What one kind of package has besides, below /usr.
DEB_ONLY = {
    "share/doc/dotnet-discoveryd/changelog.Debian.gz",
    "share/doc/dotnet-discoveryd/copyright",
    "share/lintian/overrides/dotnet-discoveryd",
}
RPM_ONLY = {
    "share/licenses/dotnet-discoveryd/LICENSE",
}
PROGRAMS = ("usr/bin/dotnet-discoveryctl", "usr/sbin/dotnet-discoveryd")
# By which systemd and the bus start the daemon once its units are enabled.
LINKS = {
    "etc/systemd/system/dbus-org.dotnetdiscovery1.service",
    "etc/systemd/system/multi-user.target.wants/dotnet-discoveryd.service",
    "etc/systemd/system/sockets.target.wants/dotnet-discoveryd.socket",
}
# Folders that the rpm leaves in a tree that is not made of rpms, where no package owns them.
UNOWNED = tuple(f"usr/share/{folder}" for folder in
                ("dbus-1/interfaces", "fish", "licenses", "zsh"))


def run(*argv: str | Path, **options: object) -> str:
    """What a program writes; it must end well."""
    return subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, **options).stdout


def main() -> None:
    """Both kinds, in both versions."""
    run(CHECKOUT / "dev", "package")
    os.umask(0o077)
    run("cpack", "--config", CHECKOUT / "build" / "package" / "CPackConfig.cmake",
        "-R", NEXT_VERSION, "-B", NEXT_FOLDER)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
