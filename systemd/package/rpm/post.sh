#!/bin/sh
# SPDX-License-Identifier: MIT
# After the files are in place; $1 is how many versions are installed then. No macros: what they
# stand for is not known where the package is built.

# Before the daemon starts, which looks the group up once.
systemd-sysusers dotnet-discoveryd.conf || :
journalctl --update-catalog || :
if [ "$1" -eq 1 ]; then
    # Whether they are enabled is the distribution's rule. Nothing is started.
    systemctl --no-reload preset dotnet-discoveryd.socket dotnet-discoveryd.service || :
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || :
    # The bus has seen its new policy, perhaps before there was the group that it names.
    busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig || :
fi
