// The pager, as systemd's tools use it: the same variables, the same options for less.
// SPDX-License-Identifier: MIT
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"

// With somebody else's rights, a pager must not offer that somebody's shell.
static bool is_elevated(void) {
    return getenv("SUDO_UID") || getenv("PKEXEC_UID") || getuid() != geteuid();
}

static const char *wanted_pager(void) {
    const char *pager = getenv("SYSTEMD_PAGER");
    return pager ? pager : getenv("PAGER");
}

static int spawn(const posix_spawn_file_actions_t *actions, const char *wanted, pid_t *ret) {
    const char *const shell[] = {"sh", "-c", wanted, NULL}, *const less[] = {"less", NULL};
    if (wanted)
        return posix_spawn(ret, "/bin/sh", actions, NULL, (char *const *)shell, environ);
    return posix_spawnp(ret, "less", actions, NULL, (char *const *)less, environ);
}

static int spawn_reading(int input, const char *wanted, pid_t *ret) {
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return r;
    r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (r == 0)
        r = spawn(&actions, wanted, ret);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

void pager_open(Pager *pager) {
    bool elevated = is_elevated();
    const char *wanted = elevated ? NULL : wanted_pager();
    if (wanted && (!*wanted || strcmp(wanted, "cat") == 0))
        return;

    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return;
    _cleanup_close_ int reading = pipe_fds[0], writing = pipe_fds[1];

    const char *less = getenv("SYSTEMD_LESS");
    setenv("LESS", less ? less : "FRSXMK", 1);
    if (elevated)
        setenv("LESSSECURE", "1", 1);
    pid_t pid;
    if (spawn_reading(reading, wanted, &pid) != 0)
        return;
    // The pager makes its own use of Ctrl-C, and its terminal must not lose it to the shell.
    signal(SIGINT, SIG_IGN);
    fflush(stdout);
    if (dup2(writing, STDOUT_FILENO) >= 0)
        pager->pid = pid;
}

void pager_close(Pager *pager) {
    if (pager->pid == 0)
        return;
    close(STDOUT_FILENO);
    while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    pager->pid = 0;
}
