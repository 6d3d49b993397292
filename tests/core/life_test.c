// How keys order, and what a further signal adds.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include "life.h"
#include "samples.h"

#define UNKNOWN EXEC_COUNT_UNKNOWN

static void keys_order_by_start_then_exec_count(void **state) {
    (void)state;
    static const struct {
        uint64_t start, exec;
        LifeRelation expected;
    } cases[] = {
        {50, 3, LIFE_SAME},        {50, 4, LIFE_NEWER}, {50, 2, LIFE_OLDER},
        {50, UNKNOWN, LIFE_SAME},  {51, 3, LIFE_NEWER}, {51, 0, LIFE_NEWER},
        {51, UNKNOWN, LIFE_NEWER}, {49, 9, LIFE_OLDER}, {49, UNKNOWN, LIFE_OLDER},
    };
    ProcessKey life = {.pid = 1, .start_ticks = 50, .exec_count = 3};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ProcessKey key = {.pid = 1, .start_ticks = cases[i].start, .exec_count = cases[i].exec};
        assert_int_equal(life_compare(&life, &key), cases[i].expected);
    }
    life.exec_count = UNKNOWN;
    ProcessKey key = {.pid = 1, .start_ticks = 50, .exec_count = 9};
    assert_int_equal(life_compare(&life, &key), LIFE_SAME);
}

static void begins_as_the_signal_says(void **state) {
    (void)state;
    Signal signal = sample_signal(42, 50, 3);
    signal.protection = 5;
    Life *life = life_new(9, &signal);
    assert_non_null(life);
    assert_int_equal(life->process.serial, 9);
    assert_int_equal(life->process.traits.state, STATE_DETECTED);
    assert_int_equal(life->process.traits.pid, 42);
    assert_int_equal(life->process.traits.uid, 1000);
    assert_string_equal(life->process.traits.command, "app");
    assert_string_equal(life->process.socket_hint, signal.socket_path);
    assert_int_equal(life->process.protection, 5);
    assert_int_equal(life->process.detected.boottime_us, T0);
    assert_true(life->named_by_kernel);
    life_free(life);
    life_free(NULL);
}

static void merge_adds_only_what_was_unknown(void **state) {
    (void)state;
    Signal scan = sample_signal(42, 50, UNKNOWN);
    scan.kind = SIGNAL_SCAN;
    scan.uid = UID_UNKNOWN;
    scan.namespace_pid = 0;
    scan.protection = PROTECTION_UNKNOWN;
    Life *life = life_new(1, &scan);
    assert_non_null(life);
    assert_false(life->named_by_kernel);
    assert_int_equal(life_merge(life, &scan), LIFE_NEWS_NONE);

    Signal mapping = sample_signal(42, 50, 3);
    assert_int_equal(life_merge(life, &mapping), LIFE_NEWS_NOW);
    assert_true(life->named_by_kernel);
    assert_int_equal(life->process.key.exec_count, 3);
    assert_true(life->process.id_exec_count == UNKNOWN); // the id stays
    assert_int_equal(life->process.traits.uid, 1000);
    assert_int_equal(life->process.namespace_pid, 42);
    assert_int_equal(life->process.protection, 0);
    assert_int_equal(life->process.signal, SIGNAL_SCAN);

    // Known by now: a liar changes nothing.
    mapping.uid = 0;
    mapping.namespace_pid = 1;
    mapping.protection = 7;
    assert_int_equal(life_merge(life, &mapping), LIFE_NEWS_NONE);
    assert_int_equal(life->process.traits.uid, 1000);
    assert_int_equal(life->process.protection, 0);
    life_free(life);
}

static void a_mapping_tells_its_protection_with_the_next_change(void **state) {
    (void)state;
    static const struct {
        State at;
        LifeNews expected;
    } cases[] = {
        {STATE_DETECTED, LIFE_NEWS_LATER},
        {STATE_READY, LIFE_NEWS_NOW},
        {STATE_UNREACHABLE, LIFE_NEWS_NOW},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Signal mapping = sample_signal(42, 50, 3), listen = mapping;
        listen.kind = SIGNAL_LISTEN;
        listen.protection = PROTECTION_UNKNOWN;
        Life *life = life_new(1, &listen);
        assert_non_null(life);
        assert_true(life->named_by_kernel);
        life->process.traits.state = cases[i].at;
        assert_int_equal(life_merge(life, &listen), LIFE_NEWS_NONE);
        assert_int_equal(life_merge(life, &mapping), cases[i].expected);
        assert_int_equal(life_merge(life, &mapping), LIFE_NEWS_NONE);
        assert_int_equal(life->process.protection, 0);
        assert_int_equal(life->process.signal, SIGNAL_LISTEN);
        life_free(life);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_order_by_start_then_exec_count),
        cmocka_unit_test(begins_as_the_signal_says),
        cmocka_unit_test(merge_adds_only_what_was_unknown),
        cmocka_unit_test(a_mapping_tells_its_protection_with_the_next_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
