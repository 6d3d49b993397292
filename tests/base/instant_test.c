// instant.c: the two clocks, and moments on either side of now.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "instant.h"

static uint64_t microseconds(clockid_t clock) {
    struct timespec ts;
    assert_int_equal(clock_gettime(clock, &ts), 0);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void now_is_what_both_clocks_say(void **state) {
    (void)state;
    uint64_t boottime = microseconds(CLOCK_BOOTTIME), realtime = microseconds(CLOCK_REALTIME);
    Instant now = instant_now();
    assert_in_range(now.boottime_us, boottime, microseconds(CLOCK_BOOTTIME));
    assert_in_range(now.realtime_us, realtime, microseconds(CLOCK_REALTIME));
}

static void a_moment_keeps_its_distance_on_both_clocks(void **state) {
    (void)state;
    const Instant now = {.boottime_us = 5000000, .realtime_us = 1700000005000000};
    static const struct {
        uint64_t boottime_us;
        uint64_t realtime_us;
    } moments[] = {
        {5000000, 1700000005000000}, // now
        {4000000, 1700000004000000}, // before
        {0, 1700000000000000},       // the boot
        {6000001, 1700000006000001}, // after
    };
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        Instant at = instant_at(now, moments[i].boottime_us);
        assert_int_equal(at.boottime_us, moments[i].boottime_us);
        assert_int_equal(at.realtime_us, moments[i].realtime_us);
    }
}

// A clock set back to before the machine booted: 1970, as without a battery.
static void a_wall_clock_behind_the_other_does_no_harm(void **state) {
    (void)state;
    const Instant now = {.boottime_us = 9000000, .realtime_us = 2000000};
    assert_int_equal(instant_at(now, 8000000).realtime_us, 1000000);
    assert_int_equal(instant_at(now, 10000000).realtime_us, 3000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(now_is_what_both_clocks_say),
        cmocka_unit_test(a_moment_keeps_its_distance_on_both_clocks),
        cmocka_unit_test(a_wall_clock_behind_the_other_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
