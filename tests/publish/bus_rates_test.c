// How much each user is told over the bus, by a clock of the test's own.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include "bus_rates.h"
#include "instant.h"

enum { NOW = 1000000 };

// Until somebody of this uid is not answered.
static size_t use_up(BusRates *rates, uid_t uid, uint64_t now_us) {
    size_t bytes = 0;
    for (; bus_rates_allow(rates, uid, now_us); bytes += BOUND_BUS_LIST)
        bus_rates_pay(rates, uid, BOUND_BUS_LIST, now_us);
    return bytes;
}

static void test_one_place(void **state __attribute__((unused))) {
    BusRates rates = {0};
    assert_int_equal(use_up(&rates, 1, NOW), BOUND_BUS_BURST);
    assert_false(bus_rates_allow(&rates, 1, NOW));
    assert_false(bus_rates_allow(&rates, 1 + BOUND_BUS_PLACES, NOW));
    assert_true(bus_rates_allow(&rates, 2, NOW));
    // What was too much is paid for, too.
    bus_rates_pay(&rates, 1, BOUND_BUS_PER_SECOND, NOW);
    assert_false(bus_rates_allow(&rates, 1, NOW + USEC_PER_SEC));
    assert_true(bus_rates_allow(&rates, 1, NOW + USEC_PER_SEC + 1));
}

static void test_a_small_reply_is_not_for_nothing(void **state __attribute__((unused))) {
    BusRates rates = {0};
    size_t replies = 0;
    for (; bus_rates_allow(&rates, 1, NOW); replies++)
        bus_rates_pay(&rates, 1, 0, NOW);
    assert_in_range(replies, BOUND_BUS_BURST / BOUND_BUS_REPLY,
                    BOUND_BUS_BURST / BOUND_BUS_REPLY + 8);
}

static void test_all_places(void **state __attribute__((unused))) {
    BusRates rates = {0};
    size_t bytes = 0;
    for (uid_t uid = 1; uid <= BOUND_BUS_PLACES; uid++)
        bytes += use_up(&rates, uid, NOW);
    assert_int_equal(bytes, BOUND_BUS_USERS_BURST);
    // Nothing is left for one who has been told nothing yet.
    assert_false(bus_rates_allow(&rates, BOUND_BUS_PLACES, NOW));
}

static void test_root_is_told_everything(void **state __attribute__((unused))) {
    BusRates rates = {0};
    for (uid_t uid = 1; uid <= BOUND_BUS_PLACES; uid++)
        use_up(&rates, uid, NOW);
    bus_rates_pay(&rates, 0, BOUND_BUS_USERS_BURST, NOW);
    assert_true(bus_rates_allow(&rates, 0, NOW));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_place),
        cmocka_unit_test(test_a_small_reply_is_not_for_nothing),
        cmocka_unit_test(test_all_places),
        cmocka_unit_test(test_root_is_told_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
