#!/busybox sh
# shellcheck shell=dash
# PID 1 of a small guest: mounts what a machine has mounted, runs what is asked for, tells of it
# at the second serial port and ends the guest.
# SPDX-License-Identifier: MIT
/busybox mkdir -p /bin /proc /sys /dev /tmp /run
/busybox --install -s /bin
# shellcheck source=/dev/null
. /environment

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs -o mode=755 tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t securityfs securityfs /sys/kernel/security
mount -t tracefs tracefs /sys/kernel/tracing
mkdir -p /dev/shm /etc
chmod 1777 /tmp
echo root:x:0:0:root:/:/bin/sh >/etc/passwd
echo root:x:0: >/etc/group
ip link set lo up

stty -F /dev/ttyS1 raw
exec </dev/null >/dev/ttyS1 2>&1
"$PYTHON" -B "$INSIDE"
echo "exit status $?"
reboot -f
