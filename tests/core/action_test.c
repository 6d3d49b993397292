// The list keeps what it owns until it is cleared, and its order.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include "action.h"
#include "life.h"
#include "samples.h"

static void items_keep_their_order(void **state) {
    (void)state;
    Actions actions = {0};
    ProcessKey key = {.pid = 7};
    for (uint64_t i = 1; i <= 100; i++) {
        assert_int_equal(actions_reserve(&actions, 1, 0, 0), 0);
        Action *action = actions_add(&actions, ACTION_PROBE, i, &key);
        assert_null(action->process);
    }
    assert_int_equal(actions.count, 100);
    for (uint64_t i = 1; i <= 100; i++)
        assert_int_equal(actions.items[i - 1].serial, i);
    actions_clear(&actions);
    assert_int_equal(actions.count, 0);
    actions_done(&actions);
    assert_null(actions.items);
}

static void owned_lives_and_facts_are_freed(void **state) {
    (void)state;
    Actions actions = {0};
    Signal signal = sample_signal(1, 2, 3);
    assert_int_equal(actions_reserve(&actions, 0, 1, 1), 0);
    actions.ended[actions.ended_count++] = life_new(1, &signal);
    actions.replaced[actions.replaced_count++] = facts_new();
    actions_done(&actions); // the sanitizer build tells a leak
    assert_int_equal(actions.ended_count, 0);
    actions_done(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_keep_their_order),
        cmocka_unit_test(owned_lives_and_facts_are_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
