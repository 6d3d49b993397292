// One user cannot fill the registry; what was refused is remembered until there is room.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include "quota.h"

static void a_uid_has_its_part_and_root_all(void **state) {
    (void)state;
    Quota quota = {.total_limit = 64, .uid_limit = 16};
    for (int i = 0; i < 16; i++)
        assert_int_equal(quota_charge(&quota, 1000), QUOTA_OK);
    assert_int_equal(quota_charge(&quota, 1000), QUOTA_UID);
    assert_true(quota_overflowed(&quota));
    assert_int_equal(quota_charge(&quota, 1001), QUOTA_OK);
    for (int i = 0; i < 47; i++)
        assert_int_equal(quota_charge(&quota, 0), QUOTA_OK);
    assert_int_equal(quota_charge(&quota, 0), QUOTA_FULL);
    assert_int_equal(quota_charge(&quota, 1001), QUOTA_FULL);

    // Room is one part in sixteen, told once.
    assert_false(quota_release(&quota, 1000));
    assert_true(quota_release(&quota, 1000)); // 14 of 16
    assert_false(quota_release(&quota, 0));
    assert_false(quota_release(&quota, 0));
    assert_true(quota_release(&quota, 0)); // 59 of 64
    assert_false(quota_overflowed(&quota));
    for (int i = 0; i < 14; i++)
        assert_false(quota_release(&quota, 1000));
    for (int i = 0; i < 44; i++)
        assert_false(quota_release(&quota, 0));
    assert_false(quota_release(&quota, 1001));
    quota_done(&quota);
}

static void many_uids_leave_root_its_part(void **state) {
    (void)state;
    Quota quota = {.total_limit = 64, .uid_limit = 16};
    for (uid_t uid = 1000; uid < 1056; uid++)
        assert_int_equal(quota_charge(&quota, uid), QUOTA_OK);
    assert_int_equal(quota_charge(&quota, 1056), QUOTA_FULL);
    assert_true(quota_overflowed(&quota));
    for (int i = 0; i < 8; i++)
        assert_int_equal(quota_charge(&quota, 0), QUOTA_OK);
    assert_int_equal(quota_charge(&quota, 0), QUOTA_FULL);

    // Whoever leaves makes room for one of its own kind.
    assert_false(quota_release(&quota, 0));
    assert_int_equal(quota_charge(&quota, 1056), QUOTA_FULL);
    assert_int_equal(quota_charge(&quota, 0), QUOTA_OK);
    assert_false(quota_release(&quota, 1000));
    assert_int_equal(quota_charge(&quota, 1056), QUOTA_OK);

    // 52 of 56, then 59 of 64.
    for (uid_t uid = 1001; uid < 1004; uid++)
        assert_false(quota_release(&quota, uid));
    assert_true(quota_release(&quota, 1004));
    assert_true(quota_release(&quota, 1005));
    assert_false(quota_overflowed(&quota));
    for (uid_t uid = 1006; uid < 1057; uid++)
        assert_false(quota_release(&quota, uid));
    for (int i = 0; i < 8; i++)
        assert_false(quota_release(&quota, 0));
    quota_done(&quota);
}

static void a_limit_of_one_heals_too(void **state) {
    (void)state;
    Quota quota = {.total_limit = 1, .uid_limit = 1};
    assert_int_equal(quota_charge(&quota, 5), QUOTA_OK);
    assert_int_equal(quota_charge(&quota, 5), QUOTA_UID);
    assert_int_equal(quota_charge(&quota, 6), QUOTA_FULL);
    assert_true(quota_release(&quota, 5));
    assert_false(quota_overflowed(&quota));
    quota_done(&quota);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uid_has_its_part_and_root_all),
        cmocka_unit_test(many_uids_leave_root_its_part),
        cmocka_unit_test(a_limit_of_one_heals_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
