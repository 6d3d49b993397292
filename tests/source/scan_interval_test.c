// When scans follow one another: what they cost decides, and how often they failed.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bounds.h"
#include "instant.h"
#include "scan_interval.h"

static const uint64_t least_us = BOUND_SCAN_INTERVAL_MS * USEC_PER_MSEC;
static const uint64_t most_us = BOUND_SCAN_INTERVAL_MAX_MS * USEC_PER_MSEC;

static void test_a_cheap_one_is_made_once_a_second(__attribute__((unused)) void **state) {
    assert_int_equal(least_us, USEC_PER_SEC);
    assert_int_equal(scan_interval_us(0, 0), least_us);
    assert_int_equal(scan_interval_us(1, 0), least_us);
    assert_int_equal(scan_interval_us(10 * USEC_PER_MSEC, 0), least_us);
}

static void test_a_dear_one_takes_a_hundredth_of_the_time(__attribute__((unused)) void **state) {
    for (uint64_t cost_ms = 11; cost_ms < 600; cost_ms++)
        assert_int_equal(scan_interval_us(cost_ms * USEC_PER_MSEC, 0),
                         100 * cost_ms * USEC_PER_MSEC);
}

static void test_the_dearest_is_made_once_a_minute(__attribute__((unused)) void **state) {
    assert_int_equal(most_us, 60 * USEC_PER_SEC);
    assert_int_equal(scan_interval_us(600 * USEC_PER_MSEC, 0), most_us);
    assert_int_equal(scan_interval_us(601 * USEC_PER_MSEC, 0), most_us);
    assert_int_equal(scan_interval_us(UINT64_MAX / 100 + 1, 0), most_us);
    assert_int_equal(scan_interval_us(UINT64_MAX, UINT64_MAX), most_us);
}

static void test_failures_double_it_up_to_a_minute(__attribute__((unused)) void **state) {
    static const uint64_t seconds[] = {1, 1, 2, 4, 8, 16, 32, 60, 60};
    for (uint64_t failures = 0; failures < sizeof seconds / sizeof *seconds; failures++)
        assert_int_equal(scan_interval_us(0, failures), seconds[failures] * USEC_PER_SEC);
    assert_int_equal(scan_interval_us(0, UINT64_MAX), most_us);
}

static void
test_a_dear_one_that_fails_is_not_made_more_often(__attribute__((unused)) void **state) {
    assert_int_equal(scan_interval_us(100 * USEC_PER_MSEC, 1), 10 * USEC_PER_SEC);
    assert_int_equal(scan_interval_us(100 * USEC_PER_MSEC, 4), 10 * USEC_PER_SEC);
    assert_int_equal(scan_interval_us(100 * USEC_PER_MSEC, 5), 16 * USEC_PER_SEC);
    assert_int_equal(scan_interval_us(USEC_PER_SEC, 1), most_us);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cheap_one_is_made_once_a_second),
        cmocka_unit_test(test_a_dear_one_takes_a_hundredth_of_the_time),
        cmocka_unit_test(test_the_dearest_is_made_once_a_minute),
        cmocka_unit_test(test_failures_double_it_up_to_a_minute),
        cmocka_unit_test(test_a_dear_one_that_fails_is_not_made_more_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
