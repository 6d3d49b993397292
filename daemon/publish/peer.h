// Who is at the other end of a connection, and what belongs to it.
// SPDX-License-Identifier: MIT
#pragma once

#include "filter.h"

// The id of the group whose members see everything, GROUP_UNKNOWN where there is none.
gid_t peer_find_group(void);

// From the credentials the kernel kept when the peer connected. Members of `group` see everything;
// GROUP_UNKNOWN: nobody is a member.
int peer_viewer(int fd, gid_t group, Viewer *ret);

// Whether the pid is a process whose effective uid is the viewer's.
bool peer_owns(const Viewer *viewer, pid_t pid);
