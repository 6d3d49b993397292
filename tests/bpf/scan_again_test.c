// Scans of /proc that follow one another, of which each knows what the one before found.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bounds.h"
#include "cleanup.h"
#include "discovery_names.h"
#include "fake_scan.h"
#include "harness.h"

enum { MANY = 96, TWICE_AS_MANY = 2 * MANY };

static const bool without_iterator[PROGRAM_COUNT_] = {[PROGRAM_SCAN] = true};

// Whether no holder can be looked at.
static bool looks_fail;

// How often this process was opened, and its start read.
static pid_t watched, opened;
static size_t opens, looks;

int __wrap_procfs_open(pid_t pid, int *ret) {
    opened = pid;
    opens += pid == watched;
    return __real_procfs_open(pid, ret);
}

int __wrap_proc_entry_start_ticks(int directory, uint64_t *ret) {
    looks += opened == watched;
    return looks_fail ? -EIO : __real_proc_entry_start_ticks(directory, ret);
}

static void listen_in(const char *folder, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    listen_at(path);
}

static void run_runtime(__attribute__((unused)) int control, const void *folder) {
    char name[64];
    snprintf(name, sizeof name, DISCOVERY_SOCKET_PREFIX "%d-1-socket", getpid());
    listen_in(folder, name);
}

// A name that tells nobody's pid.
static void run_cut(__attribute__((unused)) int control, const void *folder) {
    listen_in(folder, DISCOVERY_SOCKET_PREFIX_CUT);
}

// Tells the pid of a child that has inherited the socket, and lives until the test is over.
static void run_parent(int control, const void *folder) {
    run_runtime(control, folder);
    child_pause(control);
    pid_t inheritor = fork();
    MUST(inheritor >= 0);
    if (inheritor == 0) {
        char byte;
        (void)!recv(control, &byte, 1, 0);
        _exit(0);
    }
    child_tell(control, inheritor);
}

// Sends the socket on its way, so that nobody holds it, and receives it when told to go on.
static void run_sender(int control, const void *folder) {
    char path[128];
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX_CUT, (const char *)folder);
    int pair[2], fd = listen_at(path);
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    union {
        char bytes[CMSG_SPACE(sizeof fd)];
        struct cmsghdr header;
    } rights = {.header = {.cmsg_level = SOL_SOCKET,
                           .cmsg_type = SCM_RIGHTS,
                           .cmsg_len = CMSG_LEN(sizeof fd)}};
    memcpy(CMSG_DATA(&rights.header), &fd, sizeof fd);
    char byte = 'x';
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
    MUST(sendmsg(pair[0], &message, 0) == 1);
    MUST(close(fd) == 0);
    child_pause(control);
    MUST(recvmsg(pair[1], &message, MSG_CMSG_CLOEXEC) == 1);
}

typedef struct Many {
    const char *folder;
    size_t count;
    pid_t named; // 0: whoever makes them
} Many;

static void run_many(__attribute__((unused)) int control, const void *argument) {
    const Many *many = argument;
    for (size_t i = 0; i < many->count; i++) {
        char name[64];
        snprintf(name, sizeof name, DISCOVERY_SOCKET_PREFIX "%d-%zu-socket",
                 many->named > 0 ? many->named : getpid(), i);
        listen_in(many->folder, name);
    }
}

static void run_nested(int control, const void *folder) {
    MUST(unshare(CLONE_NEWPID) == 0);
    Child child = child_start(run_runtime, folder);
    child_pause(control);
    child_tell(control, child.pid);
}

static void scan(Harness *harness) {
    assert_int_equal(source_scan(harness->source), 0);
}

static void check_found(const Harness *harness, pid_t pid, size_t times) {
    assert_int_equal(harness_signals(harness, SIGNAL_SCAN, pid), times);
    if (times > 0)
        assert_int_equal(harness_signal(harness, SIGNAL_SCAN, pid)->key.start_ticks,
                         start_ticks_of(pid));
}

static void test_each_tells_of_each(void **state) {
    Harness *harness = *state;
    static const ChildBody bodies[] = {run_runtime, run_cut};
    char folder[32];
    make_folder(folder);
    Child children[2];
    for (size_t i = 0; i < 2; i++) {
        scan(harness);
        children[i] = child_start(bodies[i], folder);
    }
    for (size_t times = 1; times <= 3; times++) {
        scan(harness);
        check_found(harness, children[1].pid, times);
        check_found(harness, children[0].pid, times + 1);
        assert_int_equal(strlen(harness_signal(harness, SIGNAL_SCAN, children[1].pid)->socket_path),
                         strlen(folder) + 1 + strlen(DISCOVERY_SOCKET_PREFIX_CUT));
    }
    for (size_t i = 0; i < 2; i++)
        child_end(&children[i]);
    scan(harness);
    assert_int_equal(harness_signals(harness, SIGNAL_SCAN, children[0].pid), 4);
    remove_folder(folder);
}

static void test_in_a_pid_namespace(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    Child outer = child_start(run_nested, folder);
    child_let_go(&outer);
    pid_t pid = child_number(&outer);
    for (size_t times = 1; times <= 3; times++) {
        scan(harness);
        check_found(harness, pid, times);
        assert_int_equal(harness_signal(harness, SIGNAL_SCAN, pid)->namespace_pid, 1);
    }
    child_end(&outer);
    remove_folder(folder);
}

// The one who inherited it is no owner; but once nobody else has it, somebody must be told.
static void test_left_to_an_inheritor(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    Child parent = child_start(run_parent, folder);
    child_let_go(&parent);
    pid_t inheritor = child_number(&parent);
    scan(harness);
    scan(harness);
    check_found(harness, parent.pid, 2);
    check_found(harness, inheritor, 0);
    MUST(kill(parent.pid, SIGKILL) == 0);
    MUST(waitpid(parent.pid, NULL, 0) == parent.pid);
    scan(harness);
    scan(harness);
    assert_int_equal(harness_signals(harness, SIGNAL_SCAN, parent.pid), 2);
    check_found(harness, inheritor, 2);
    safe_close(parent.control);
    remove_folder(folder);
}

// That nobody was seen to hold it is believed for some scans, not for ever.
static void test_held_again(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    Child child = child_start(run_sender, folder);
    scan(harness);
    check_found(harness, child.pid, 0);
    child_go(&child);
    for (int i = 0; i < BOUND_SCAN_BELIEFS; i++)
        scan(harness);
    scan(harness);
    assert_true(harness_signals(harness, SIGNAL_SCAN, child.pid) > 0);
    child_end(&child);
    remove_folder(folder);
}

// A holder that could not be looked at is no reason to believe that there is none.
static void test_looked_at_again(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    Child child = child_start(run_cut, folder);
    looks_fail = true;
    scan(harness);
    looks_fail = false;
    check_found(harness, child.pid, 0);
    scan(harness);
    check_found(harness, child.pid, 1);
    child_end(&child);
    remove_folder(folder);
}

static void check_looks(Harness *harness, pid_t pid, size_t most) {
    watched = pid;
    opens = looks = 0;
    scan(harness);
    assert_true(opens > 0);
    assert_true(opens <= most);
    assert_true(looks <= most);
}

// However many sockets it has, a process is looked through once as one that they name and once as
// one of all, and opened once for so many that are told.
static void check_many(Harness *harness, pid_t named, size_t count) {
    const size_t turns = (count + BOUND_SCAN_SIGNALS - 1) / BOUND_SCAN_SIGNALS;
    char folder[32];
    make_folder(folder);
    const Many many = {.folder = folder, .count = count, .named = named};
    Child child = child_start(run_many, &many);
    check_looks(harness, child.pid, 1 + turns);
    check_found(harness, child.pid, count);
    check_looks(harness, child.pid, turns);
    check_found(harness, child.pid, 2 * count);
    child_end(&child);
    remove_folder(folder);
}

static void test_many_that_name_their_holder(void **state) {
    check_many(*state, 0, MANY);
    check_many(*state, 0, TWICE_AS_MANY);
}

static void test_many_that_name_another(void **state) {
    check_many(*state, getppid(), MANY);
    check_many(*state, getppid(), TWICE_AS_MANY);
}

static void test_whom_many_name_is_looked_at_twice(void **state) {
    char folder[32];
    make_folder(folder);
    const Many many = {.folder = folder, .count = MANY, .named = getppid()};
    Child child = child_start(run_many, &many);
    check_looks(*state, getppid(), 2);
    child_end(&child);
    remove_folder(folder);
}

static bool has_followed(const Harness *harness, __attribute__((unused)) const void *argument) {
    return source_counters(harness->source)->rescans > 0;
}

// Records that were lost before the first scan ask for one: it is that one, and the next comes when
// it is due.
static void test_asked_for_before_the_first(void **state) {
    Harness *harness = *state;
    assert_int_equal(source_rescan(harness->source), 0);
    scan(harness);
    harness_run(harness, has_followed, NULL);
    assert_int_equal(source_counters(harness->source)->scan_failures, 0);
}

static int setup(void **state) {
    Harness *harness = malloc(sizeof *harness);
    MUST(harness != NULL);
    harness_init_by(harness, MECHANISM_SCAN, without_iterator);
    *state = harness;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_tells_of_each, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_in_a_pid_namespace, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_left_to_an_inheritor, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_held_again, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_looked_at_again, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_many_that_name_their_holder, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_many_that_name_another, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_whom_many_name_is_looked_at_twice, setup,
                                        harness_teardown),
        cmocka_unit_test_setup_teardown(test_asked_for_before_the_first, setup, harness_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
