// Everything is read through one descriptor of /proc/PID: the pid may go to another process, the
// descriptor does not. The start time is compared once, when it is opened; from then on a read that
// succeeds is of the same life. libsystemd takes a pid, so what it says counts only if the process
// is still there afterwards.
//
// While an execve of the process is under way, and a process can hold one up for good, the kernel
// lets nobody read most of what is below /proc/PID: all this is for a worker's thread. Its status
// is not among that, so what the loop asks afterwards is answered from there.
// SPDX-License-Identifier: MIT
#include "target.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <systemd/sd-login.h>

#include "bounds.h"
#include "cgroup.h"
#include "cleanup.h"
#include "macro.h"
#include "procfs.h"

DEFINE_CLEANUP(Facts *, facts_free);

static bool is_gone(int error) {
    return error == ESRCH || error == ENOENT;
}

// For a file of /proc/PID that is there as long as the process is.
static int unreadable(int error, const char *name, Failure *failure) {
    if (failure_is_ours(error))
        return -error;
    if (is_gone(error))
        failure_set(failure, OUTCOME_VANISHED, NULL, error, "reading its %s", name);
    else
        failure_set(failure, OUTCOME_PERMISSION_DENIED, NULL, error, "reading its %s", name);
    return STEP_FAILED;
}

// Its flags, field 9; the command in field 2 may hold anything.
static bool is_kernel_thread(const char *stat) {
    enum { KERNEL_THREAD = 0x00200000 }; // PF_KTHREAD
    const char *end = strrchr(stat, ')');
    unsigned flags;
    return end && sscanf(end, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & KERNEL_THREAD;
}

static int read_stat(Target *target, uint64_t *ret_start_ticks, char *ret_run_state) {
    char text[BOUND_PROC_FILE];
    size_t size;
    int r = procfs_read(target->directory, "stat", text, sizeof text, &size);
    if (r < 0)
        return r;
    if (is_kernel_thread(text))
        target->without_port = "is a kernel thread";
    r = procfs_text_run_state(text, ret_run_state);
    return r < 0 ? r : procfs_text_start_ticks(text, ret_start_ticks);
}

static int read_status(const Target *target, StatusText *ret) {
    char text[BOUND_PROC_FILE];
    size_t size;
    int r = procfs_read(target->directory, "status", text, sizeof text, &size);
    return r < 0 ? r : procfs_text_status(text, ret);
}

static bool is_zombie(char run_state) {
    return run_state == 'Z' || run_state == 'X';
}

// Of one that is a zombie: its main thread has ended, the others may go on. The pid is still its
// own as long as its directory can be read.
static bool group_has_ended(const Target *target) {
    _cleanup_close_ int process = pidfd_open(target->key.pid, 0);
    if (process < 0)
        return errno == ESRCH;
    char run_state;
    uint64_t start_ticks;
    Target same = *target;
    int r = read_stat(&same, &start_ticks, &run_state);
    if (r < 0)
        return is_gone(-r);
    struct pollfd ended = {.fd = process, .events = POLLIN};
    return poll(&ended, 1, 0) > 0;
}

int target_open(const ProcessKey *key, Target *ret, Failure *failure) {
    _cleanup_(target_done) Target target = {.key = *key, .directory = -1};
    uint64_t start_ticks;
    char run_state;

    int r = procfs_open(key->pid, &target.directory);
    if (r < 0)
        return unreadable(-r, "/proc directory", failure);
    r = read_stat(&target, &start_ticks, &run_state);
    if (r < 0)
        return unreadable(-r, "stat", failure);
    bool zombie = is_zombie(run_state);
    if ((key->start_ticks != START_TICKS_UNKNOWN && start_ticks != key->start_ticks) ||
        (zombie && group_has_ended(&target))) {
        failure_set(failure, OUTCOME_VANISHED, NULL, 0, "it has ended");
        return STEP_FAILED;
    }
    if (zombie)
        target.without_port = "its main thread has ended";
    r = read_status(&target, &target.status);
    if (r < 0)
        return unreadable(-r, "status", failure);

    target.key.start_ticks = start_ticks;
    *ret = target;
    target.directory = -1;
    return STEP_DONE;
}

void target_done(Target *target) {
    if (target)
        target->directory = safe_close(target->directory);
}

static int read_life(const Target *target, StatusLife *ret) {
    char text[BOUND_PROC_FILE];
    size_t size;
    int r = procfs_read(target->directory, "status", text, sizeof text, &size);
    if (r < 0)
        return r;
    bool cut = r > 0;
    r = procfs_text_status_life(text, ret);
    // A long list of groups stands before what tells of its memory.
    ret->has_memory |= cut;
    return r;
}

bool target_is_alive(const Target *target) {
    // An exiting process gives up its memory before it closes its descriptors: a connection that
    // broke off since its peer was killed is told apart here.
    StatusLife life = {0};
    int r = read_life(target, &life);
    if (r < 0)
        return !is_gone(-r);
    if (is_zombie(life.run_state))
        return !group_has_ended(target);
    // Kernel threads never had any.
    return life.has_memory || target->without_port;
}

char target_run_state(const Target *target) {
    StatusLife life = {0};
    int r = read_life(target, &life);
    if (r >= 0)
        return life.run_state;
    return is_gone(-r) ? 'X' : '?';
}

static int on_maps_line(void *userdata, const char *line, __attribute__((unused)) size_t size) {
    Facts *facts = userdata;
    if (!facts->runtime)
        facts->runtime = procfs_text_runtime(line);
    return procfs_text_is_mapping(line, &facts->protection);
}

void target_mappings(const Target *target, Facts *facts) {
    (void)procfs_each_line(target->directory, "maps", BOUND_PROC_MAPS, on_maps_line, facts);
}

static int read_command(const Target *target, Facts *facts) {
    char text[64]; // longer than any TASK_COMM_LEN, so that the newline is seen
    size_t size;
    int r = procfs_read(target->directory, "comm", text, sizeof text, &size);
    if (r < 0)
        return r;
    if (size > 0 && text[size - 1] == '\n')
        size--;
    if (size > sizeof facts->command - 1)
        size = sizeof facts->command - 1;
    memcpy(facts->command, text, size);
    facts->command[size] = '\0';
    return 0;
}

static int read_executable(const Target *target, Facts *facts) {
    char text[PATH_MAX];
    int r = procfs_read_link(target->directory, "exe", text, sizeof text);
    if (r < 0)
        return r;
    facts->executable = strdup(text);
    return facts->executable ? 0 : -ENOMEM;
}

static int read_cgroup(const Target *target, Facts *facts) {
    char text[BOUND_PROC_FILE];
    size_t size;
    int r = procfs_read(target->directory, "cgroup", text, sizeof text, &size);
    if (r < 0)
        return r;
    r = cgroup_path(text, &facts->cgroup);
    return r < 0 ? r : cgroup_container(text, &facts->container_id);
}

// libsystemd looks at many files for each answer: it is asked only where there can be one. A unit's
// folder has the unit's name, so a suffix; units of a user's own manager are below that manager's.
static int read_unit(const Target *target, Facts *facts) {
    if (!facts->cgroup || !strchr(facts->cgroup, '.'))
        return 0;
    return sd_pid_get_unit(target->key.pid, &facts->unit);
}

static int read_user_unit(const Target *target, Facts *facts) {
    if (!facts->unit || strncmp(facts->unit, "user@", strlen("user@")) != 0)
        return 0;
    return sd_pid_get_user_unit(target->key.pid, &facts->user_unit);
}

static int read_arguments(const Target *target, Facts *facts) {
    char text[BOUND_ARGUMENTS + 1];
    size_t size;
    int r = procfs_read(target->directory, "cmdline", text, sizeof text, &size);
    if (r < 0 || size == 0)
        return r;
    // A process may have written over its arguments, and a cut leaves the last one open.
    if (text[size - 1] != '\0')
        size++;
    facts->arguments = malloc(size);
    if (!facts->arguments)
        return -ENOMEM;
    memcpy(facts->arguments, text, size);
    facts->arguments_size = size;
    facts->arguments_truncated = r > 0;
    return 0;
}

int target_facts(const Target *target, Facts **ret, Failure *failure) {
    static int (*const readers[])(const Target *, Facts *) = {
        read_command, read_executable, read_cgroup, read_unit, read_user_unit, read_arguments,
    };
    _cleanup_(facts_freep) Facts *facts = facts_new();
    if (!facts)
        return -ENOMEM;
    facts->uid = target->status.uid;
    facts->gid = target->status.gid;
    facts->namespace_pid = target->status.namespace_pid;

    for (size_t i = 0; i < ELEMENTS_OF(readers); i++) {
        int r = readers[i](target, facts);
        if (r < 0 && failure_is_ours(-r))
            return r;
    }

    if (!target_is_alive(target)) {
        failure_set(failure, OUTCOME_VANISHED, NULL, 0, "it has ended");
        return STEP_FAILED;
    }
    *ret = TAKE_PTR(facts);
    return STEP_DONE;
}

int target_credentials(const Target *target, Facts *facts) {
    StatusText status = {0};
    int r = read_status(target, &status);
    if (r < 0)
        return failure_is_ours(-r) ? r : 0;
    facts->uid = status.uid;
    facts->gid = status.gid;
    return 0;
}
