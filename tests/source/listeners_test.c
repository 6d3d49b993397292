// What one scan of /proc may take over from the one before it.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bounds.h"
#include "listeners.h"

static const char path[] = "/tmp/dotnet-diagnostic-7-1-socket";
static const ProcessKey holder = {.pid = 7, .start_ticks = 11};

// The only one that a scan came across; owned by the caller.
static Listener *scan(Listeners *ret, uint64_t inode, const char *name) {
    *ret = (Listeners){0};
    assert_int_equal(listeners_add(ret, inode, name), 0);
    assert_int_equal(listeners_seal(ret), 0);
    return ret->items;
}

// Whether a scan that follows `before` takes over what is known, which `before` then is.
static bool follow(Listeners *before, Listener *ret) {
    Listeners next;
    Listener *listener = scan(&next, 1, path);
    bool recalled = listener_recall(listener, before);
    *ret = *listener;
    listeners_done(before);
    *before = next;
    return recalled;
}

static void test_one_never_seen_is_looked_for(__attribute__((unused)) void **state) {
    Listeners before = {0};
    Listener listener;
    assert_false(follow(&before, &listener));
    assert_int_equal(listener.holder.pid, 0);
    listeners_done(&before);
}

static void test_a_holder_is_known_from_then_on(__attribute__((unused)) void **state) {
    Listeners before;
    Listener listener;
    listener_hold(scan(&before, 1, path), &holder, 7);
    for (int i = 0; i < 3 * BOUND_SCAN_BELIEFS; i++) {
        assert_true(follow(&before, &listener));
        assert_int_equal(listener.holder.pid, holder.pid);
        assert_int_equal(listener.holder.start_ticks, holder.start_ticks);
        assert_true(listener.named);
    }
    listeners_done(&before);
}

static void test_an_inode_is_used_again_for_another(__attribute__((unused)) void **state) {
    Listeners before;
    Listener listener;
    listener_hold(scan(&before, 1, "/tmp/dotnet-diagnostic-8-1-socket"), &holder, 7);
    assert_false(follow(&before, &listener));
    assert_int_equal(listener.holder.pid, 0);
    listeners_done(&before);
}

static void
test_that_nobody_holds_it_is_believed_for_so_long(__attribute__((unused)) void **state) {
    Listeners before;
    Listener listener;
    listener_give_up(scan(&before, 1, path));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BOUND_SCAN_BELIEFS; i++) {
            assert_true(follow(&before, &listener));
            assert_int_equal(listener.holder.pid, 0);
        }
        assert_false(follow(&before, &listener));
        // That look may have failed as well; nothing is believed then.
        assert_false(follow(&before, &listener));
        listener_give_up(before.items);
    }
    listeners_done(&before);
}

static void test_one_that_was_not_looked_for_is_not_believed(__attribute__((unused)) void **state) {
    Listeners before;
    Listener listener;
    scan(&before, 1, path);
    assert_false(follow(&before, &listener));
    listeners_done(&before);
}

static void test_those_of_one_process_stand_together(__attribute__((unused)) void **state) {
    static const char *const paths[] = {"dotnet-diagnostic-9-1-socket", "dotnet-diagnostic-7-1-",
                                        "dotnet-diagnostic-9-2-socket", "dotnet-diagnostic-7",
                                        "/tmp/dotnet-diagnostic-7-2-socket"};
    static const pid_t names[] = {0, 7, 7, 9, 9}, holders[] = {0, 0, 7, 7, 7};
    Listeners listeners = {0};
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(listeners_add(&listeners, 5 - i, paths[i]), 0);
    assert_int_equal(listeners_seal(&listeners), 0);
    listeners_by_name(&listeners);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(listeners.order[i]->names, names[i]);
    for (uint64_t inode = 1; inode <= 3; inode++)
        listener_hold(listeners_find(&listeners, inode), &holder, 7);
    listeners_by_holder(&listeners);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(listeners.order[i]->holder.pid, holders[i]);
    // What it is named by first.
    assert_int_equal(listeners.order[2]->inode, 1);
    listener_drop(listeners.order[2]);
    assert_int_equal(listeners_find(&listeners, 1)->holder.pid, 0);
    assert_false(listeners_find(&listeners, 1)->named);
    listeners_done(&listeners);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_never_seen_is_looked_for),
        cmocka_unit_test(test_a_holder_is_known_from_then_on),
        cmocka_unit_test(test_an_inode_is_used_again_for_another),
        cmocka_unit_test(test_that_nobody_holds_it_is_believed_for_so_long),
        cmocka_unit_test(test_one_that_was_not_looked_for_is_not_believed),
        cmocka_unit_test(test_those_of_one_process_stand_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
