#!/bin/sh
# SPDX-License-Identifier: MIT
# Before the files are removed; $1 is how many versions are installed then.
if [ "$1" -eq 0 ]; then
    systemctl --no-reload disable dotnet-discoveryd.socket dotnet-discoveryd.service || :
    if [ -d /run/systemd/system ]; then
        systemctl stop dotnet-discoveryd.socket dotnet-discoveryd.service || :
    fi
fi
