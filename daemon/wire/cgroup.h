// What /proc/PID/cgroup tells, cgroups(7), cgroup v1, v2 and both.
// SPDX-License-Identifier: MIT
#pragma once

// The path that says most: of systemd's own hierarchy ("name=systemd", v1 and hybrid), else of the
// unified one ("0::"), else of the first other; the root only where all are the root. (On a hybrid
// host runc leaves a container's unified path in its runtime's service.) Owned by the caller; NULL
// in *ret where the text has no path. -ENOMEM.
int cgroup_path(const char *text, char **ret);

// The id that Docker, Podman, containerd, CRI-O or Kubernetes put into a cgroup path: the last
// component that is 64 lower-case hex digits once a prefix ending in '-' or ':' and ".scope" are
// taken off. NULL in *ret where there is none. Owned by the caller. -ENOMEM.
int cgroup_container_id(const char *path, char **ret);
