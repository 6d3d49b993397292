// Groups come from the socket: what /proc says of a pid is said of whoever has it by then.
// SPDX-License-Identifier: MIT
#include "peer.h"

#include <errno.h>
#include <grp.h>
#include <sys/socket.h>

#include "bounds.h"
#include "cleanup.h"
#include "discovery_names.h"
#include "procfs.h"
#include "procfs_text.h"

gid_t peer_find_group(void) {
    const struct group *group = getgrnam(DISCOVERY_GROUP);
    return group ? group->gr_gid : GROUP_UNKNOWN;
}

// False as well where the groups cannot be had.
static bool has_group(int fd, gid_t group) {
    // The first call tells the size; credentials never change afterwards.
    socklen_t size = 0;
    // cppcheck-suppress nullPointer; of no size
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 || errno != ERANGE)
        return false;
    _cleanup_free_ gid_t *groups = malloc(size);
    if (!groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
        return false;
    for (size_t i = 0; i < size / sizeof *groups; i++)
        if (groups[i] == group)
            return true;
    return false;
}

int peer_viewer(int fd, gid_t group, Viewer *ret) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    bool member = group != GROUP_UNKNOWN && (peer.gid == group || has_group(fd, group));
    *ret = (Viewer){.uid = peer.uid, .sees_all = peer.uid == 0 || member};
    return 0;
}

bool peer_owns(const Viewer *viewer, pid_t pid) {
    _cleanup_close_ int directory = -1;
    if (procfs_open(pid, &directory) < 0)
        return false;
    char text[BOUND_PROC_FILE];
    size_t size;
    StatusText status;
    return procfs_read(directory, "status", text, sizeof text, &size) >= 0 &&
           procfs_text_status(text, &status) >= 0 && status.tgid == pid &&
           status.uid == viewer->uid;
}
