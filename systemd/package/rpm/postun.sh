#!/bin/sh
# SPDX-License-Identifier: MIT
# After the files are removed; $1 is how many versions are installed then. In an upgrade this one is
# the old version's, run last.
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || :
fi
if [ "$1" -eq 0 ]; then
    # The group stays: files of others may belong to it.
    journalctl --update-catalog || :
    # systemd made it for the socket, and leaves it.
    rmdir /run/dotnet-discoveryd 2>/dev/null || :
elif [ -d /run/systemd/system ]; then
    # The socket is not restarted: whoever connects meanwhile waits in it for the new daemon.
    systemctl try-restart dotnet-discoveryd.service || :
fi
