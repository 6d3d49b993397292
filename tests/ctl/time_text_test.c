// time_text.c: moments in local time, spans written and read.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "instant.h"
#include "macro.h"
#include "time_text.h"

#define MOMENT UINT64_C(1796043067123999) // 2026-11-30 12:51:07.123999 UTC

static int set_zone(void **state) {
    (void)state;
    // Half an hour off and without daylight saving: no machine's default.
    setenv("TZ", "IST-5:30", 1);
    tzset();
    return 0;
}

static void writes_moments(void **state) {
    (void)state;
    char text[TIME_TEXT_SIZE];
    time_text_full(MOMENT, text);
    assert_string_equal(text, "Mon 2026-11-30 18:21:07.123 IST");
    time_text_date(MOMENT, text);
    assert_string_equal(text, "2026-11-30 18:21:07");
    time_text_line(MOMENT, text);
    assert_string_equal(text, "Nov 30 18:21:07.123");
    time_text_full(0, text);
    assert_string_equal(text, "Thu 1970-01-01 05:30:00.000 IST");
}

static void writes_moments_that_no_calendar_has(void **state) {
    (void)state;
    char text[TIME_TEXT_SIZE];
    time_text_full(UINT64_MAX, text);
    assert_string_equal(text, "Wed 586524-01-19 13:31:49.551 IST");
    time_text_date(UINT64_MAX, text);
    assert_string_equal(text, "586524-01-19 13:31:49");
}

static void writes_spans(void **state) {
    (void)state;
    static const struct {
        uint64_t us;
        const char *text;
    } spans[] = {
        {0, "0s"},
        {999999, "0s"},
        {1000000, "1s"},
        {59 * USEC_PER_SEC, "59s"},
        {60 * USEC_PER_SEC, "1min"},
        {61 * USEC_PER_SEC, "1min 1s"},
        {3600 * USEC_PER_SEC, "1h"},
        {3659 * USEC_PER_SEC, "1h"},
        {3723 * USEC_PER_SEC, "1h 2min"},
        {86400 * USEC_PER_SEC, "1 day"},
        {(2 * 86400 + 5 * 3600) * USEC_PER_SEC, "2 days 5h"},
        {UINT64_MAX, "213503982 days 8h"},
    };
    for (size_t i = 0; i < ELEMENTS_OF(spans); i++) {
        char text[TIME_TEXT_SIZE];
        time_text_span(spans[i].us, text);
        assert_string_equal(text, spans[i].text);
    }
}

static void writes_milliseconds(void **state) {
    (void)state;
    char text[TIME_TEXT_SIZE];
    time_text_milliseconds(0, text);
    assert_string_equal(text, "0.00 ms");
    time_text_milliseconds(1539, text);
    assert_string_equal(text, "1.53 ms");
    time_text_milliseconds(2000099, text);
    assert_string_equal(text, "2000.09 ms");
}

static void reads_spans(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t us;
    } spans[] = {
        {"0", 0},
        {"5", 5000000},
        {"5s", 5000000},
        {"5 s", 5000000},
        {"5sec", 5000000},
        {"500ms", 500000},
        {"7us", 7},
        {"2min", 120000000},
        {"2m", 120000000},
        {"1min 30s", 90000000},
        {"1min30s", 90000000},
        {"1 hour  2 minutes 3 seconds ", 3723000000},
        {"1.5h", 5400000000},
        {"0.25", 250000},
        {"1.0000009s", 1000000},
        {"1d", 86400000000},
        {"infinity", USEC_NEVER},
        {"18446744073709551614us", UINT64_MAX - 1},
    };
    for (size_t i = 0; i < ELEMENTS_OF(spans); i++) {
        uint64_t us = 77;
        assert_int_equal(time_text_parse_span(spans[i].text, &us), 0);
        assert_true(us == spans[i].us);
    }
}

static void refuses_spans(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int error;
    } spans[] = {
        {"", -EINVAL},
        {" ", -EINVAL},
        {" 5", -EINVAL},
        {"-5", -EINVAL},
        {"+5", -EINVAL},
        {"s", -EINVAL},
        {"5x", -EINVAL},
        {"5S", -EINVAL},
        {"5.", -EINVAL},
        {".5", -EINVAL},
        {"1.2.3", -EINVAL},
        {"0x10", -EINVAL},
        {"5s,", -EINVAL},
        {"infinity 5s", -EINVAL},
        {"1min infinity", -EINVAL},
        {"18446744073709551615us", -ERANGE},
        {"18446744073709551616us", -ERANGE},
        {"18446744073709551615", -ERANGE},
        {"18446744073709551614us 1us", -ERANGE},
        {"99999999999999999999999999", -ERANGE},
    };
    for (size_t i = 0; i < ELEMENTS_OF(spans); i++) {
        uint64_t us = 77;
        assert_int_equal(time_text_parse_span(spans[i].text, &us), spans[i].error);
        assert_int_equal(us, 77);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_moments), cmocka_unit_test(writes_moments_that_no_calendar_has),
        cmocka_unit_test(writes_spans),   cmocka_unit_test(writes_milliseconds),
        cmocka_unit_test(reads_spans),    cmocka_unit_test(refuses_spans),
    };
    return cmocka_run_group_tests(tests, set_zone, NULL);
}
