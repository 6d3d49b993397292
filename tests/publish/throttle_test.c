// A burst passes, then a few a second; what did not is counted; nobody uses up what is root's, and
// nobody what is the daemon's.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include "instant.h"
#include "throttle.h"

enum { T0 = 5000000 };

static void test_burst_and_pace(void **state) {
    (void)state;
    Throttle throttle = {0};
    uint64_t suppressed = 1, now = T0;
    for (int i = 0; i < BOUND_JOURNAL_BURST; i++) {
        assert_true(throttle_pass(&throttle, 1000, now, &suppressed));
        assert_int_equal(suppressed, 0);
    }
    for (int i = 0; i < 7; i++)
        assert_false(throttle_pass(&throttle, 1000, now, &suppressed));
    assert_true(throttle_pass(&throttle, 1001, now, &suppressed));
    assert_int_equal(suppressed, 0);

    now += USEC_PER_SEC / BOUND_JOURNAL_PER_SECOND - 1;
    assert_false(throttle_pass(&throttle, 1000, now, &suppressed));
    assert_true(throttle_pass(&throttle, 1000, ++now, &suppressed));
    assert_int_equal(suppressed, 8);
    assert_false(throttle_pass(&throttle, 1000, now, &suppressed));

    // Full again after a rest, and no fuller than it was.
    now += 3600 * USEC_PER_SEC;
    int passed = 0;
    while (throttle_pass(&throttle, 1000, now, &suppressed))
        passed++;
    assert_int_equal(passed, BOUND_JOURNAL_BURST);
}

static void test_root_and_many_uids(void **state) {
    (void)state;
    Throttle throttle = {0};
    uint64_t suppressed;
    int passed = 0;
    for (uid_t uid = 100000; uid < 165536; uid++)
        passed += throttle_pass(&throttle, uid, T0, &suppressed);
    assert_int_equal(passed, BOUND_JOURNAL_PLACES * BOUND_JOURNAL_BURST);

    for (int i = 0; i < BOUND_JOURNAL_ROOT_BURST; i++)
        assert_true(throttle_pass(&throttle, 0, T0, &suppressed));
    assert_false(throttle_pass(&throttle, 0, T0, &suppressed));
    assert_true(throttle_pass(&throttle, 0, T0 + USEC_PER_SEC / BOUND_JOURNAL_ROOT_PER_SECOND,
                              &suppressed));
    assert_int_equal(suppressed, 1);
}

static void test_daemon(void **state) {
    (void)state;
    Throttle throttle = {0};
    uint64_t suppressed;
    while (throttle_pass(&throttle, 0, T0, &suppressed))
        continue;
    for (int i = 0; i < BOUND_JOURNAL_DAEMON_BURST; i++)
        assert_true(throttle_pass_daemon(&throttle, T0));
    uint64_t next = T0 + BOUND_JOURNAL_DAEMON_SECONDS * USEC_PER_SEC;
    assert_false(throttle_pass_daemon(&throttle, next - 1));
    assert_true(throttle_pass_daemon(&throttle, next));
    assert_false(throttle_pass_daemon(&throttle, next));
}

// journald drops what a service writes beyond 10,000 entries in 30 s. An entry after the burst can
// bring another that counts those left out.
static void test_journald_drops_nothing(void **state) {
    (void)state;
    const int seconds = 30;
    int users =
        BOUND_JOURNAL_PLACES * (BOUND_JOURNAL_BURST + 2 * seconds * BOUND_JOURNAL_PER_SECOND);
    int root = BOUND_JOURNAL_ROOT_BURST + 2 * seconds * BOUND_JOURNAL_ROOT_PER_SECOND;
    int daemon = BOUND_JOURNAL_DAEMON_BURST + seconds / BOUND_JOURNAL_DAEMON_SECONDS;
    assert_true(users + root + daemon < 10000);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_burst_and_pace),
        cmocka_unit_test(test_root_and_many_uids),
        cmocka_unit_test(test_daemon),
        cmocka_unit_test(test_journald_drops_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
