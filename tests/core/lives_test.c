// The two indices, and a reader that goes on from a serial while lives come and go.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include "lives.h"
#include "samples.h"

static Life *add(Lives *lives, uint64_t serial, pid_t pid) {
    Signal signal = sample_signal(pid, 1, 1);
    Life *life = life_new(serial, &signal);
    assert_non_null(life);
    assert_int_equal(lives_add(lives, life), 0);
    return life;
}

static void drop(Lives *lives, Life *life) {
    lives_remove(lives, life);
    life_free(life);
}

static void found_by_serial_and_by_pid(void **state) {
    (void)state;
    Lives lives = {0};
    Life *a = add(&lives, 1, 30), *b = add(&lives, 2, 10), *c = add(&lives, 5, 20);
    assert_ptr_equal(lives_find(&lives, 1), a);
    assert_ptr_equal(lives_find(&lives, 5), c);
    assert_null(lives_find(&lives, 3));
    assert_null(lives_find(&lives, 6));
    assert_ptr_equal(lives_find_pid(&lives, 10), b);
    assert_null(lives_find_pid(&lives, 11));
    assert_ptr_equal(lives_next(&lives, 0), a);
    assert_ptr_equal(lives_next(&lives, 2), c);
    assert_null(lives_next(&lives, 5));
    drop(&lives, b);
    assert_null(lives_find(&lives, 2));
    assert_null(lives_find_pid(&lives, 10));
    assert_ptr_equal(lives_next(&lives, 1), c);
    drop(&lives, a);
    drop(&lives, c);
    lives_done(&lives);
}

static void a_reader_misses_nobody_who_stays(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    Lives lives = {0};
    Life *all[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        all[i] = add(&lives, i + 1, (pid_t)(i + 1));

    // Two of three go while the reader walks, ahead of it and behind it.
    size_t seen = 0;
    uint64_t cursor = 0;
    for (Life *life; (life = lives_next(&lives, cursor)); cursor = life->process.serial) {
        seen += life->process.serial % 3 == 0;
        size_t victim = (life->process.serial * 7) % COUNT;
        if (all[victim] && all[victim] != life && (victim + 1) % 3 != 0) {
            drop(&lives, all[victim]);
            all[victim] = NULL;
        }
    }
    assert_int_equal(seen, COUNT / 3);
    for (size_t i = 0; i < COUNT; i++) {
        if (all[i])
            drop(&lives, all[i]);
    }
    assert_int_equal(lives.alive, 0);
    lives_done(&lives);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_by_serial_and_by_pid),
        cmocka_unit_test(a_reader_misses_nobody_who_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
