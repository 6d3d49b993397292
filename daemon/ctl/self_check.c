// Runs the daemon's program for one check. Its output is taken as carefully as a daemon's.
// SPDX-License-Identifier: MIT
#include "self_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bounds.h"
#include "buffer.h"
#include "cleanup.h"
#include "discovery_names.h"
#include "exit_status.h"
#include "field.h"
#include "scrub.h"
#include "varlink.h"

// The daemon's program in the folder of this one; false where that cannot be told.
static bool beside(char ret[static PATH_MAX]) {
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n < 0)
        return false;
    own[n] = '\0';
    char *slash = strrchr(own, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return snprintf(ret, PATH_MAX, "%s/" DISCOVERY_DAEMON, own) < PATH_MAX;
}

// An error number, as posix_spawn returns them.
static int spawn_first(const posix_spawn_file_actions_t *actions, const char *option, pid_t *ret) {
    const char *const names[] = {DISCOVERY_DAEMON, option, NULL};
    char *const *arguments = (char *const *)names;
    char path[PATH_MAX];
    int r = ENOENT;
    if (beside(path))
        r = posix_spawn(ret, path, actions, NULL, arguments, environ);
    if (r == ENOENT)
        r = posix_spawnp(ret, DISCOVERY_DAEMON, actions, NULL, arguments, environ);
    if (r == ENOENT)
        r = posix_spawn(ret, DISCOVERY_SBIN "/" DISCOVERY_DAEMON, actions, NULL, arguments,
                        environ);
    return r;
}

static int spawn_writing(int output, uint64_t pid, pid_t *ret) {
    char option[64] = "--check";
    if (pid > 0)
        snprintf(option, sizeof option, "--check=%" PRIu64, pid);
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return r;
    r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (r == 0)
        r = spawn_first(&actions, option, ret);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

// Reads to the end; what is beyond the buffer's limit is read and dropped. -ENOBUFS then.
static int drain(int fd, Buffer *buffer) {
    int result = 0;
    for (;;) {
        char bytes[4096];
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n == 0)
            return result;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (result == 0)
            result = buffer_append(buffer, bytes, (size_t)n);
    }
}

static int read_items(const Buffer *buffer, json_t **ret) {
    if (buffer_size(buffer) == 0)
        return SELF_CHECK_BAD;
    _cleanup_json_ json_t *reply =
        json_loadb(buffer_bytes(buffer), buffer_size(buffer), JSON_REJECT_DUPLICATES, NULL);
    if (!field_array(reply, "items"))
        return SELF_CHECK_BAD;
    int r = scrub(reply);
    if (r < 0)
        return r == -EBADMSG ? SELF_CHECK_BAD : r;
    *ret = TAKE_PTR(reply);
    return SELF_CHECK_DONE;
}

int self_check(uint64_t pid, json_t **ret) {
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return -errno;
    _cleanup_close_ int reading = pipe_fds[0], writing = pipe_fds[1];
    pid_t child;
    int r = spawn_writing(writing, pid, &child);
    if (r != 0)
        return r == ENOENT ? SELF_CHECK_MISSING : -r;
    writing = safe_close(writing);

    _cleanup_(buffer_done) Buffer buffer;
    buffer_init(&buffer, BOUND_REPLY);
    r = drain(reading, &buffer);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (r < 0)
        return r == -ENOBUFS ? SELF_CHECK_BAD : r;
    if (buffer_size(&buffer) == 0 && status != 0)
        return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_STATUS_NOT_FOUND
                   ? SELF_CHECK_NO_PROCESS
                   : SELF_CHECK_FAILED;
    return read_items(&buffer, ret);
}
