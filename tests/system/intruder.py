# SPDX-License-Identifier: MIT
"""What runs in the daemon's place, in its sandbox and with its privileges, and tries what it should
not be able to: intruder.py MARKER OTHER

MARKER is a file that it does not see in its own tree, OTHER the pid of another user's process. Writes
what came of each attempt, as a JSON object: "done" or the name of the errno.
"""

import errno
import json
import os
import re
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

NEW = "intruder"  # what would be made


def attempt(act: Callable[..., Any], *arguments: Any) -> str:
    """What comes of it."""
    try:
        act(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"


def make(folder: str) -> None:
    """Makes a file."""
    os.close(os.open(f"{folder}/{NEW}", os.O_WRONLY | os.O_CREAT, 0o666))


def write(path: str) -> None:
    """Opens a file that is there for writing."""
    os.close(os.open(path, os.O_WRONLY))


def mount_points() -> dict[str, os.statvfs_result]:
    """All that it can see."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        paths = {re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), line.split()[4])
                 for line in mounts}
    return {path: os.statvfs(path) for path in sorted(paths)}


def interfaces() -> list[str]:
    """Of its network; the first two lines are a heading."""
    with open("/proc/net/dev", encoding="utf-8") as lines:
        return [line.split(":")[0].strip() for line in lines][2:]


def main(marker: str, other: str) -> None:
    """Tries everything."""
    folder = os.path.dirname(marker)
    results: dict[str, Any] = {
        "writable mounts": [path for path, mount in mount_points().items()
                            if not mount.f_flag & os.ST_RDONLY],
        "folders seen": {path: os.listdir(path)
                         for path in ("/home", "/root", "/tmp", "/var/tmp", "/srv", "/run/user")},
        "make a file": {path: attempt(make, path)
                        for path in ("/", "/etc", "/usr/lib", "/usr/sbin", "/run", "/tmp", "/proc",
                                     "/run/systemd", "/var", "/var/tmp", "/dev", "/dev/shm",
                                     "/sys/fs/cgroup", "/sys/kernel/tracing", "/home", "/root")},
        "write to a file": {path: attempt(write, path)
                            for path in ("/etc/passwd", "/proc/sys/kernel/core_pattern",
                                         "/proc/self/oom_score_adj",
                                         "/sys/kernel/tracing/tracing_on", "/dev/kmsg")},
        "write through a process": attempt(write, f"/proc/1/root{marker}"),
        "change files": {
            "mkdir": attempt(os.mkdir, f"/proc/1/root{folder}/{NEW}"),
            "rename": attempt(os.rename, f"/proc/1/root{marker}", f"/proc/1/root{marker}.{NEW}"),
            "unlink": attempt(os.unlink, f"/proc/1/root{marker}"),
            "symlink": attempt(os.symlink, marker, f"/proc/1/root{folder}/{NEW}"),
            "mknod": attempt(os.mknod, f"/proc/1/root{folder}/{NEW}"),
            "chmod": attempt(os.chmod, f"/proc/1/root{marker}", 0o4777),
            "chown": attempt(os.chown, f"/proc/1/root{marker}", 0, 0),
            "setxattr": attempt(os.setxattr, f"/proc/1/root{marker}", "user.a", b"b"),
            "truncate": attempt(os.truncate, f"/proc/1/root{marker}", 0)},
        "processes": {
            "kill": attempt(os.kill, int(other), signal.SIGTERM),
            "pidfd_send_signal": attempt(signal.pidfd_send_signal, os.pidfd_open(int(other)),
                                         signal.SIGTERM)},
        "itself": {
            "setuid": attempt(os.setuid, 1), "setgroups": attempt(os.setgroups, [1]),
            "chroot": attempt(os.chroot, "/proc"), "nice": attempt(os.nice, -1)},
        "sockets": {
            name: attempt(socket.socket, family, socket.SOCK_RAW)
            for name, family in (("inet", socket.AF_INET), ("inet6", socket.AF_INET6),
                                 ("netlink", socket.AF_NETLINK), ("packet", socket.AF_PACKET))},
        "interfaces": interfaces(),
        "connect": {path: attempt(connect, path)
                    for path in ("/run/dbus/system_bus_socket", "/run/systemd/journal/stdout")},
    }
    json.dump(results, sys.stdout)


def connect(path: str) -> None:
    """To a Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
