// Whom the kernel says is at the other end.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "peer.h"

static Viewer view_of_pair(gid_t group) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    _cleanup_close_ int near = pair[0];
    _cleanup_close_ int far = pair[1];
    (void)far;
    Viewer viewer;
    assert_int_equal(peer_viewer(near, group, &viewer), 0);
    return viewer;
}

static void test_own_uid(void **state) {
    (void)state;
    Viewer viewer = view_of_pair(GROUP_UNKNOWN);
    assert_int_equal(viewer.uid, geteuid());
    assert_int_equal(viewer.sees_all, geteuid() == 0);
}

static void test_groups(void **state) {
    (void)state;
    if (geteuid() != 0) {
        print_message("Skipped: needs root.\n");
        skip();
    }
    gid_t before[64];
    int count = getgroups(64, before);
    assert_true(count >= 0);
    const gid_t many[] = {4001, 4002, 4003};
    assert_int_equal(setgroups(3, many), 0);
    assert_int_equal(setegid(4000), 0);
    assert_int_equal(seteuid(4000), 0);

    Viewer primary = view_of_pair(4000);
    Viewer last = view_of_pair(4003);
    Viewer none = view_of_pair(4004);
    Viewer unknown = view_of_pair(GROUP_UNKNOWN);

    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setgroups(0, NULL), 0);
    assert_int_equal(seteuid(4000), 0);
    Viewer empty = view_of_pair(4003);

    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    assert_int_equal(setgroups((size_t)count, before), 0);

    assert_int_equal(primary.uid, 4000);
    assert_true(primary.sees_all);
    assert_true(last.sees_all);
    assert_false(none.sees_all);
    assert_false(unknown.sees_all);
    assert_false(empty.sees_all);
}

static void test_not_a_socket(void **state) {
    (void)state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    _cleanup_close_ int near = pipes[0];
    _cleanup_close_ int far = pipes[1];
    (void)far;
    Viewer viewer = {.uid = 77};
    assert_int_equal(peer_viewer(near, GROUP_UNKNOWN, &viewer), -ENOTSOCK);
    assert_int_equal(viewer.uid, 77);
}

static void test_owned_process(void **state) {
    (void)state;
    Viewer self = {.uid = geteuid()};
    Viewer other = {.uid = geteuid() + 1};
    assert_true(peer_owns(&self, getpid()));
    assert_false(peer_owns(&other, getpid()));

    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(peer_owns(&self, child));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_uid),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_not_a_socket),
        cmocka_unit_test(test_owned_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
