// What may stand at a path that a process names.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "fake_port.h"
#include "macro.h"
#include "socket_path.h"

typedef struct Result {
    int step;
    Failure failure;
} Result;

static void result_done(Result *result) {
    failure_done(&result->failure);
}

// Opens as an attempt at `pid` would and closes again.
static Result try_open(pid_t pid, const char *path) {
    _cleanup_(target_done) Target target = {.directory = -1};
    _cleanup_close_ int fd = -1;
    Result result = {0};
    ProcessKey key = key_of(pid);
    assert_int_equal(target_open(&key, &target, &result.failure), STEP_DONE);
    result.step = socket_path_open(&target, path, &fd, &result.failure);
    assert_int_equal(result.step == STEP_DONE, fd >= 0);
    return result;
}

static void assert_failure(pid_t pid, const char *path, Outcome outcome, const char *detail) {
    _cleanup_(result_done) Result result = try_open(pid, path);
    assert_int_equal(result.step, STEP_FAILED);
    assert_int_equal(result.failure.outcome, outcome);
    assert_non_null(result.failure.detail);
    if (!strstr(result.failure.detail, detail))
        fail_msg("\"%s\" is not in \"%s\"", detail, result.failure.detail);
}

static void assert_opens(pid_t pid, const char *path) {
    _cleanup_(result_done) Result result = try_open(pid, path);
    if (result.step != STEP_DONE)
        fail_msg("%s", result.failure.detail);
}

static void test_kinds(void **state) {
    Fixture *fixture = *state;
    char path[SOCKET_PATH_SIZE], real[SOCKET_PATH_SIZE];
    fixture_path(fixture, "socket", real);
    int listener = listen_at(real);
    assert_opens(getpid(), real);

    fixture_path(fixture, "link", path);
    assert_int_equal(symlink(real, path), 0);
    assert_failure(getpid(), path, OUTCOME_NO_SOCKET, "symbolic link");
    fixture_path(fixture, "fifo", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_failure(getpid(), path, OUTCOME_NO_SOCKET, "FIFO");
    fixture_path(fixture, "file", path);
    safe_close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_failure(getpid(), path, OUTCOME_NO_SOCKET, "is a file");
    assert_failure(getpid(), fixture->folder, OUTCOME_NO_SOCKET, "folder");
    assert_failure(getpid(), "/dev/null", OUTCOME_NO_SOCKET, "device");
    assert_failure(getpid(), "socket", OUTCOME_NO_SOCKET, "relative");
    assert_failure(getpid(), "/proc/self/root/tmp/x", OUTCOME_NO_SOCKET, "ELOOP");
    fixture_path(fixture, "missing\x1b[31m", path);
    assert_failure(getpid(), path, OUTCOME_NO_SOCKET, "missing\\x1b[31m");
    close(listener);
}

static void test_link_on_the_way(void **state) {
    Fixture *fixture = *state;
    char folder[SOCKET_PATH_SIZE], path[SOCKET_PATH_SIZE];
    fixture_path(fixture, "socket", path);
    int listener = listen_at(path);
    fixture_path(fixture, "here", folder);
    assert_int_equal(symlink(".", folder), 0);
    fixture_path(fixture, "here/socket", path);
    assert_failure(getpid(), path, OUTCOME_NO_SOCKET, "ELOOP");
    close(listener);
}

static void test_owner(void **state) {
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        print_message("Skipped: needs root.\n");
        skip();
    }
    char path[SOCKET_PATH_SIZE];
    fixture_path(fixture, "socket", path);
    int listener = listen_at(path);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_failure(getpid(), path, OUTCOME_NOT_OWNER,
                   "belongs to uid 12345, not to one of the process's: 0, 0, 0, 0");
    ProcessKey key = key_of(getpid());
    _cleanup_(target_done) Target target = {.directory = -1};
    _cleanup_(failure_done) Failure failure = {0};
    assert_int_equal(target_open(&key, &target, &failure), STEP_DONE);
    target.status.uid = 5;
    // Any of its four will do.
    for (size_t i = 0; i < STATUS_UIDS; i++) {
        for (size_t j = 0; j < STATUS_UIDS; j++)
            target.status.uids[j] = j == i ? 12345 : 5;
        _cleanup_close_ int fd = -1;
        assert_int_equal(socket_path_open(&target, path, &fd, &failure), STEP_DONE);
    }
    // Root's own is no exception.
    assert_int_equal(chown(path, 0, 0), 0);
    _cleanup_close_ int fd = -1;
    assert_int_equal(socket_path_open(&target, path, &fd, &failure), STEP_FAILED);
    assert_int_equal(failure.outcome, OUTCOME_NOT_OWNER);
    close(listener);
}

typedef struct Mounter {
    const char *type;
    const char *folder;
    char path[SOCKET_PATH_SIZE];
} Mounter;

// In a mount namespace of its own, a process that waits to be killed; -1 where that is not allowed.
static pid_t child_with_mount(const Mounter *mounter) {
    int done[2];
    assert_int_equal(pipe(done), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char options[128] = "";
        if (strcmp(mounter->type, "fuse") == 0)
            // A server that never answers. Its descriptor ends with the process, and the mount too.
            snprintf(options, sizeof options,
                     "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
                     open("/dev/fuse", O_RDWR | O_CLOEXEC));
        bool mounted = unshare(CLONE_NEWNS) == 0 &&
                       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                       mount("test", mounter->folder, mounter->type, 0, options) == 0;
        if (mounted && strcmp(mounter->type, "tmpfs") == 0)
            listen_at(mounter->path);
        if (write(done[1], mounted ? "y" : "n", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char byte = 0;
    close(done[1]);
    ssize_t n = read(done[0], &byte, 1);
    close(done[0]);
    if (n == 1 && byte == 'y')
        return pid;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

// A socket on a tmpfs only the process sees, and a path into a FUSE mount whose server is dead.
static void test_mounts(void **state) {
    Fixture *fixture = *state;
    char folder[SOCKET_PATH_SIZE];
    fixture_path(fixture, "mount", folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    static const char *const types[] = {"tmpfs", "fuse"};
    for (size_t i = 0; i < ELEMENTS_OF(types); i++) {
        Mounter mounter = {.type = types[i], .folder = folder};
        fixture_path(fixture, "mount/socket", mounter.path);
        pid_t child = child_with_mount(&mounter);
        if (child < 0) {
            print_message("Skipped: mounting a %s is not allowed here.\n", types[i]);
            skip();
        }
        if (i == 0) {
            assert_opens(child, mounter.path);
            assert_failure(getpid(), mounter.path, OUTCOME_NO_SOCKET, "(E");
        } else {
            alarm(5); // where it waits for the server, nothing else ends this test
            assert_failure(child, mounter.path, OUTCOME_NO_SOCKET, "file server");
            assert_failure(child, folder, OUTCOME_NO_SOCKET, "folder");
            alarm(0);
        }
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_link_on_the_way, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_owner, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_mounts, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
