// The path is the process's word. It is resolved below /proc/PID/root without symbolic links, and
// only in the kernel's cache (RESOLVE_CACHED): a bound socket pins its file and every folder above
// it, so a path that is not there has no live socket, and hardly a filesystem gets a chance to
// keep the thread waiting (an overlay over FUSE does). Before 5.12 the kernel cannot promise that.
//
// One thing may be missing from the cache although the path is there: a folder's access list (seen
// on ext4, folders of a user, after a start of the machine). It is loaded by looking at the folder,
// on filesystems of the kernel's own.
// SPDX-License-Identifier: MIT
#include "socket_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "mount.h"

// A rename or mount at the same moment makes the kernel ask for another try.
enum { OPEN_TRIES = 3 };

static int open_below(int root, const char *path, int flags) {
    struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | (unsigned)flags,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_CACHED,
    };
    for (int tries = 0;;) {
        long fd = syscall(SYS_openat2, root, path, &how, sizeof how);
        if (fd >= 0)
            return (int)fd;
        if (errno == EINVAL && how.resolve & RESOLVE_CACHED)
            how.resolve &= ~(uint64_t)RESOLVE_CACHED;
        else if (errno != EAGAIN || ++tries == OPEN_TRIES)
            return -errno;
    }
}

// Loads the access list of one folder: looking up "." asks for permission and for nothing else.
static int load_access(const Target *target, int folder) {
    struct statx file;
    if (statx(folder, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, MOUNT_STATX_MASK, &file) < 0)
        return -errno;
    if (!mount_is_kernels_own(target, &file))
        return -EAGAIN;
    _cleanup_close_ int self = openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return self < 0 ? -errno : 0;
}

// -EREMOTE: a folder is on a server, or is no more.
static int load_access_along(const Target *target, int root, const char *path) {
    char prefix[SOCKET_PATH_SIZE];
    for (const char *slash = path; slash; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - path) + 1;
        memcpy(prefix, path, length);
        prefix[length] = '\0';
        _cleanup_close_ int folder = open_below(root, prefix, O_DIRECTORY);
        int r = folder < 0 ? folder : load_access(target, folder);
        if (r < 0)
            return r == -EAGAIN ? -EREMOTE : r;
    }
    return 0;
}

static int open_cached(const Target *target, int root, const char *path) {
    int fd = open_below(root, path, 0);
    if (fd != -EAGAIN)
        return fd;
    int r = load_access_along(target, root, path);
    return r < 0 ? r : open_below(root, path, 0);
}

static const char *kind_of(mode_t mode) {
    return S_ISLNK(mode)    ? "a symbolic link"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISREG(mode)  ? "a file"
           : S_ISDIR(mode)  ? "a folder"
                            : "a device";
}

// Ours, permission, or else no socket.
static int unopened(int error, const char *path, const char *what, Failure *failure) {
    if (failure_is_ours(error))
        return -error;
    Outcome outcome =
        error == EACCES || error == EPERM ? OUTCOME_PERMISSION_DENIED : OUTCOME_NO_SOCKET;
    failure_set(failure, outcome, path, error, "%s", what);
    return STEP_FAILED;
}

static bool has_uid(const StatusText *status, uid_t uid) {
    for (size_t i = 0; i < STATUS_UIDS; i++)
        if (status->uids[i] == uid)
            return true;
    return false;
}

static int check_file(const Target *target, int fd, const char *path, Failure *failure) {
    // fstat() would ask the filesystem's server, if it has one.
    struct statx file;
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_UID | MOUNT_STATX_MASK,
              &file) < 0)
        return unopened(errno, path, "looking at it failed", failure);

    if (!S_ISSOCK(file.stx_mode)) {
        failure_set(failure, OUTCOME_NO_SOCKET, path, 0, "is %s, not a socket",
                    kind_of(file.stx_mode));
        return STEP_FAILED;
    }
    // Any of its own, since it may have lowered its effective one after the runtime started.
    const uid_t *uids = target->status.uids;
    if (!has_uid(&target->status, file.stx_uid)) {
        failure_set(failure, OUTCOME_NOT_OWNER, path, 0,
                    "belongs to uid %u, not to one of the process's: %u, %u, %u, %u", file.stx_uid,
                    uids[0], uids[1], uids[2], uids[3]);
        return STEP_FAILED;
    }
    if (!mount_is_kernels_own(target, &file)) {
        failure_set(failure, OUTCOME_NO_SOCKET, path, 0,
                    "lies on a network or user-space filesystem, which could answer never");
        return STEP_FAILED;
    }
    return STEP_DONE;
}

static int open_root(const Target *target) {
    return openat(target->directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool socket_path_is_taken(const Target *target, const char *path) {
    _cleanup_close_ int root = open_root(target);
    if (root < 0)
        return false;
    _cleanup_close_ int fd = open_cached(target, root, path);
    return fd >= 0;
}

int socket_path_open(const Target *target, const char *path, int *ret, Failure *failure) {
    if (path[0] != '/') {
        failure_set(failure, OUTCOME_NO_SOCKET, path, 0,
                    "is relative to a folder that only the process knows");
        return STEP_FAILED;
    }

    _cleanup_close_ int root = open_root(target);
    if (root < 0 && (errno == ENOENT || errno == ESRCH)) {
        failure_set(failure, OUTCOME_VANISHED, path, errno, "it has ended");
        return STEP_FAILED;
    }
    if (root < 0)
        return unopened(errno, path, "opening the root folder of the process failed", failure);

    _cleanup_close_ int fd = open_cached(target, root, path);
    if (fd == -ELOOP)
        return unopened(ELOOP, path, "has a symbolic link in it, which is not followed", failure);
    if (fd == -EREMOTE)
        return unopened(EREMOTE, path, "lies on a file server, or its folder was deleted", failure);
    // What is bound there keeps its name in the cache until the file is deleted.
    if (fd == -EAGAIN || fd == -ENOENT)
        return unopened(-fd, path, "was deleted: no such file in the process's root folder",
                        failure);
    if (fd < 0)
        return unopened(-fd, path, "opening failed", failure);

    int r = check_file(target, fd, path, failure);
    if (r == STEP_DONE)
        *ret = TAKE_FD(fd);
    return r;
}
