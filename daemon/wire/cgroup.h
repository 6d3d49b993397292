// What /proc/PID/cgroup tells, cgroups(7), cgroup v1, v2 and both.
// SPDX-License-Identifier: MIT
#pragma once

// The path that says most: of systemd's own hierarchy ("name=systemd", v1 and hybrid), else of the
// unified one ("0::"), else of the first other; the root only where all are the root. (On a hybrid
// host runc leaves a container's unified path in its runtime's service.) Owned by the caller; NULL
// in *ret where the text has no path. -ENOMEM.
int cgroup_path(const char *text, char **ret);

// The container: the last component of the path that names one, of the path that says most among
// those that do. It is either the id of 64 lower-case hex digits that Docker, Podman, containerd,
// CRI-O and Kubernetes put there, behind a prefix ending in '-' or ':' and before ".scope"; or the
// name of a machine, unescaped, as machinectl lists it (machine.slice/machine-NAME.scope,
// systemd-nspawn@NAME.service); or that of an LXC container. NULL in *ret where there is none.
// Owned by the caller. -ENOMEM.
int cgroup_container(const char *text, char **ret);
