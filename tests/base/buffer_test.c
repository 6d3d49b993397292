// buffer.c: limits, room, what moves and what is given back, and a long random use beside a plain
// array.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "cleanup.h"

static void assert_holds(const Buffer *buffer, const char *text) {
    assert_int_equal(buffer_size(buffer), strlen(text));
    if (*text)
        assert_memory_equal(buffer_bytes(buffer), text, strlen(text));
}

static void an_empty_buffer_holds_nothing(void **state) {
    (void)state;
    _cleanup_(buffer_done) Buffer buffer;
    buffer_init(&buffer, 10);
    assert_int_equal(buffer_size(&buffer), 0);
    assert_null(buffer_bytes(&buffer));
    char *room = (char *)&buffer;
    size_t size = 77;
    assert_int_equal(buffer_reserve(&buffer, 0, &room, &size), 0);
    assert_int_equal(size, 0);
    assert_int_equal(buffer_append(&buffer, NULL, 0), 0);
    buffer_consume(&buffer, 0);
    assert_null(buffer.data);
}

static void bytes_come_out_in_order(void **state) {
    (void)state;
    _cleanup_(buffer_done) Buffer buffer;
    buffer_init(&buffer, 100);
    assert_int_equal(buffer_append(&buffer, "abc", 3), 0);
    assert_int_equal(buffer_append(&buffer, "def", 3), 0);
    assert_holds(&buffer, "abcdef");
    buffer_consume(&buffer, 2);
    assert_holds(&buffer, "cdef");
    assert_int_equal(buffer_append(&buffer, "g", 1), 0);
    assert_holds(&buffer, "cdefg");
    buffer_consume(&buffer, 5);
    assert_holds(&buffer, "");
    assert_int_equal(buffer_append(&buffer, "h", 1), 0);
    assert_holds(&buffer, "h");
}

static void the_limit_is_on_what_is_held(void **state) {
    (void)state;
    _cleanup_(buffer_done) Buffer buffer;
    buffer_init(&buffer, 6);
    assert_int_equal(buffer_append(&buffer, "abcdef", 6), 0);
    assert_int_equal(buffer_append(&buffer, "g", 1), -ENOBUFS);
    assert_holds(&buffer, "abcdef");
    buffer_consume(&buffer, 2);
    assert_int_equal(buffer_append(&buffer, "ghi", 3), -ENOBUFS);
    assert_holds(&buffer, "cdef");
    assert_int_equal(buffer_append(&buffer, "gh", 2), 0);
    assert_holds(&buffer, "cdefgh");
    assert_int_equal(buffer_append(&buffer, NULL, SIZE_MAX), -ENOBUFS);
}

static void room_is_reserved_up_to_the_limit(void **state) {
    (void)state;
    _cleanup_(buffer_done) Buffer buffer;
    buffer_init(&buffer, 8);
    char *room;
    size_t size;
    assert_int_equal(buffer_reserve(&buffer, 5, &room, &size), 0);
    assert_int_equal(size, 5);
    memset(room, 'a', 3);
    buffer_commit(&buffer, 3);
    assert_holds(&buffer, "aaa");

    assert_int_equal(buffer_reserve(&buffer, 100, &room, &size), 0);
    assert_int_equal(size, 5);
    memset(room, 'b', 5);
    buffer_commit(&buffer, 5);
    assert_holds(&buffer, "aaabbbbb");
    assert_int_equal(buffer_reserve(&buffer, 1, &room, &size), 0);
    assert_int_equal(size, 0);

    // What is reserved and not committed was never there.
    buffer_consume(&buffer, 4);
    assert_int_equal(buffer_reserve(&buffer, 4, &room, &size), 0);
    assert_int_equal(size, 4);
    memset(room, 'x', 4);
    buffer_commit(&buffer, 0);
    assert_holds(&buffer, "bbbb");
}

static void an_emptied_buffer_keeps_little(void **state) {
    (void)state;
    _cleanup_(buffer_done) Buffer buffer;
    buffer_init(&buffer, 1 << 20);
    _cleanup_free_ char *large = calloc(1, 1 << 20);
    assert_non_null(large);

    assert_int_equal(buffer_append(&buffer, "abc", 3), 0);
    buffer_consume(&buffer, 3);
    assert_non_null(buffer.data);
    assert_int_equal(buffer_append(&buffer, large, 1 << 20), 0);
    buffer_consume(&buffer, (1 << 20) - 1);
    assert_non_null(buffer.data);
    buffer_consume(&buffer, 1);
    assert_null(buffer.data);
    assert_int_equal(buffer.capacity, 0);
    assert_int_equal(buffer_append(&buffer, "abc", 3), 0);
    assert_holds(&buffer, "abc");
}

static void done_leaves_a_buffer_to_use_again(void **state) {
    (void)state;
    buffer_done(NULL);
    Buffer buffer;
    buffer_init(&buffer, 4);
    assert_int_equal(buffer_append(&buffer, "abcd", 4), 0);
    buffer_done(&buffer);
    assert_int_equal(buffer_size(&buffer), 0);
    assert_int_equal(buffer_append(&buffer, "abcde", 5), -ENOBUFS);
    assert_int_equal(buffer_append(&buffer, "abcd", 4), 0);
    buffer_done(&buffer);
    buffer_done(&buffer);
}

static void it_does_what_an_array_does(void **state) {
    (void)state;
    enum { LIMIT = 9000, STEPS = 20000 };
    _cleanup_(buffer_done) Buffer buffer;
    buffer_init(&buffer, LIMIT);
    char model[LIMIT], bytes[3000];
    size_t used = 0;
    unsigned short seed[3] = {2024, 6, 7};

    for (int step = 0; step < STEPS; step++) {
        size_t size = (size_t)nrand48(seed) % (step % 64 == 0 ? sizeof bytes : 200);
        char fill = (char)nrand48(seed);
        if (nrand48(seed) % 2 == 0) {
            size = size < used ? size : used;
            memmove(model, model + size, used - size);
            used -= size;
            buffer_consume(&buffer, size);
        } else if (nrand48(seed) % 2 == 0) {
            memset(bytes, fill, size);
            int r = buffer_append(&buffer, bytes, size);
            assert_int_equal(r, used + size > LIMIT ? -ENOBUFS : 0);
            if (r == 0) {
                memset(model + used, fill, size);
                used += size;
            }
        } else {
            char *room;
            size_t got, expected = size < LIMIT - used ? size : LIMIT - used;
            assert_int_equal(buffer_reserve(&buffer, size, &room, &got), 0);
            assert_int_equal(got, expected);
            memset(model + used, fill, got);
            if (got > 0)
                memset(room, fill, got);
            buffer_commit(&buffer, got);
            used += got;
        }
        assert_int_equal(buffer_size(&buffer), used);
        if (used > 0)
            assert_memory_equal(buffer_bytes(&buffer), model, used);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_holds_nothing),
        cmocka_unit_test(bytes_come_out_in_order),
        cmocka_unit_test(the_limit_is_on_what_is_held),
        cmocka_unit_test(room_is_reserved_up_to_the_limit),
        cmocka_unit_test(an_emptied_buffer_keeps_little),
        cmocka_unit_test(done_leaves_a_buffer_to_use_again),
        cmocka_unit_test(it_does_what_an_array_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
