// The heap against a sorted walk.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <stdlib.h>

#include "deadlines.h"

enum { COUNT = 200 };

static void comes_out_in_order(void **state) {
    (void)state;
    Deadlines deadlines = {0};
    Deadline items[COUNT] = {0};
    assert_int_equal(deadlines_reserve(&deadlines, COUNT), 0);
    assert_null(deadlines_first(&deadlines));

    srand(1);
    for (size_t i = 0; i < COUNT; i++)
        deadlines_set(&deadlines, &items[i], (uint64_t)rand() % 1000);
    // Moved, both ways, and removed.
    for (size_t i = 0; i < COUNT; i += 3)
        deadlines_set(&deadlines, &items[i], (uint64_t)rand() % 1000);
    for (size_t i = 1; i < COUNT; i += 5) {
        deadlines_remove(&deadlines, &items[i]);
        assert_int_equal(items[i].place, 0);
        deadlines_remove(&deadlines, &items[i]); // not waiting is no error
    }

    uint64_t last = 0;
    size_t seen = 0;
    for (Deadline *first; (first = deadlines_first(&deadlines)); seen++) {
        assert_true(first->when_us >= last);
        last = first->when_us;
        deadlines_remove(&deadlines, first);
    }
    assert_int_equal(seen, COUNT - COUNT / 5);
    deadlines_done(&deadlines);
}

static void every_place_is_right(void **state) {
    (void)state;
    Deadlines deadlines = {0};
    Deadline items[COUNT] = {0};
    assert_int_equal(deadlines_reserve(&deadlines, COUNT), 0);
    srand(2);
    for (size_t round = 0; round < 5000; round++) {
        Deadline *item = &items[(size_t)rand() % COUNT];
        if (rand() % 3 == 0)
            deadlines_remove(&deadlines, item);
        else
            deadlines_set(&deadlines, item, (uint64_t)rand() % 100);
        for (size_t place = 1; place <= deadlines.count; place++) {
            assert_int_equal(deadlines.heap[place - 1]->place, place);
            if (place > 1)
                assert_true(deadlines.heap[place / 2 - 1]->when_us <=
                            deadlines.heap[place - 1]->when_us);
        }
    }
    while (deadlines_first(&deadlines))
        deadlines_remove(&deadlines, deadlines_first(&deadlines));
    deadlines_done(&deadlines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_out_in_order),
        cmocka_unit_test(every_place_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
