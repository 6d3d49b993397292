// Filters: what is refused and by which name, what matches; who sees what.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "filter.h"
#include "macro.h"
#include "varlink.h"

static json_t *parse_json(const char *text) {
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    return value;
}

static const struct {
    const char *json;
    const char *name; // what is refused
} refused[] = {
    {"[]", "filter"},
    {"1", "filter"},
    {"\"x\"", "filter"},
    {"false", "filter"},
    {"{\"pids\": 1}", "pids"},
    {"{\"pids\": null}", "pids"},
    {"{\"\": 1}", ""},
    {"{\"Pid\": 1}", "Pid"},
    {"{\"pid\": 0}", "pid"},
    {"{\"pid\": -1}", "pid"},
    {"{\"pid\": 2147483648}", "pid"},
    {"{\"pid\": 1.0}", "pid"},
    {"{\"pid\": \"1\"}", "pid"},
    {"{\"pid\": true}", "pid"},
    {"{\"uid\": -1}", "uid"},
    {"{\"uid\": 4294967295}", "uid"},
    {"{\"uid\": {}}", "uid"},
    {"{\"state\": \"Ready\"}", "state"},
    {"{\"state\": \"\"}", "state"},
    {"{\"state\": 1}", "state"},
    {"{\"unit\": 1}", "unit"},
    {"{\"unit\": \"\"}", "unit"},
    {"{\"command\": []}", "command"},
    {"{\"entryAssembly\": true}", "entryAssembly"},
    {"{\"runtimeVersion\": 10.0}", "runtimeVersion"},
    {"{\"containerId\": {}}", "containerId"},
    {"{\"unit\": \"a\", \"command\": \"b\", \"sequence\": 1}", "sequence"},
};

static void test_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(refused); i++) {
        _cleanup_json_ json_t *object = parse_json(refused[i].json);
        Filter filter = {.pid = 99};
        const char *name = NULL;
        if (filter_parse(object, &filter, &name) != -EINVAL || strcmp(name, refused[i].name) != 0)
            fail_msg("%s", refused[i].json);
        assert_int_equal(filter.pid, 99);
    }
}

static void test_pattern_bound(void **state) {
    (void)state;
    char pattern[BOUND_PATTERN + 2];
    memset(pattern, 'a', sizeof pattern);
    for (size_t length = BOUND_PATTERN; length <= BOUND_PATTERN + 1; length++) {
        _cleanup_json_ json_t *object = json_pack("{s:s#}", "unit", pattern, (int)length);
        _cleanup_(filter_done) Filter filter = {0};
        const char *name = "unit";
        int expected = length == BOUND_PATTERN ? 0 : -EINVAL;
        assert_int_equal(filter_parse(object, &filter, &name), expected);
        assert_string_equal(name, "unit");
    }
}

static const Facts facts = {
    .unit = (char[]){"app.service"},
    .entry_assembly = (char[]){"My\x1b"
                               "App\\"},
    .runtime_version = (char[]){"10.0.5"},
    .container_id = (char[]){"0123abc"},
};
static const Traits traits = {
    .pid = 42, .uid = 1000, .state = STATE_READY, .command = "dotnet", .facts = &facts};
static const Traits bare = {.pid = 42, .uid = UID_UNKNOWN, .state = STATE_DETECTED};

static const struct {
    const char *json;
    bool matches;
    bool matches_bare;
} matches[] = {
    {"null", true, true},
    {"{}", true, true},
    {"{\"pid\":null,\"uid\":null,\"state\":null,\"unit\":null,\"command\":null,"
     "\"entryAssembly\":null,\"runtimeVersion\":null,\"containerId\":null}",
     true, true},
    {"{\"pid\": 42}", true, true},
    {"{\"pid\": 43}", false, false},
    {"{\"uid\": 1000}", true, false},
    {"{\"uid\": 0}", false, false},
    {"{\"uid\": 4294967294}", false, false},
    {"{\"state\": \"ready\"}", true, false},
    {"{\"state\": \"detected\"}", false, true},
    {"{\"state\": \"gone\"}", false, false},
    {"{\"unit\": \"app.service\"}", true, false},
    {"{\"unit\": \"app\"}", false, false},
    {"{\"unit\": \"*\"}", true, false},
    {"{\"unit\": \"a[op]p.?ervice\"}", true, false},
    {"{\"command\": \"dot*\"}", true, false},
    {"{\"command\": \"*\"}", true, false},
    {"{\"command\": \"DOT*\"}", false, false},
    {"{\"entryAssembly\": \"My*\"}", true, false},
    // As it is shown: the escape is four characters, and a glob takes its own backslashes.
    {"{\"entryAssembly\": \"My\\\\\\\\x1bApp\\\\\\\\\\\\\\\\\"}", true, false},
    {"{\"entryAssembly\": \"My????App??\"}", true, false},
    {"{\"entryAssembly\": \"My?App?\"}", false, false},
    {"{\"runtimeVersion\": \"10.*\"}", true, false},
    {"{\"runtimeVersion\": \"9.*\"}", false, false},
    {"{\"containerId\": \"0123*\"}", true, false},
    {"{\"pid\": 42, \"uid\": 1000, \"state\": \"ready\", \"unit\": \"*.service\"}", true, false},
    {"{\"pid\": 42, \"uid\": 1000, \"state\": \"ready\", \"unit\": \"*.timer\"}", false, false},
};

static void test_match(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(matches); i++) {
        _cleanup_json_ json_t *object = parse_json(matches[i].json);
        _cleanup_(filter_done) Filter filter = {0};
        const char *name = NULL;
        assert_int_equal(filter_parse(object, &filter, &name), 0);
        if (filter_match(&filter, &traits) != matches[i].matches ||
            filter_match(&filter, &bare) != matches[i].matches_bare)
            fail_msg("%s", matches[i].json);
    }
    _cleanup_(filter_done) Filter filter = {0};
    const char *name = NULL;
    assert_int_equal(filter_parse(NULL, &filter, &name), 0);
    assert_true(filter_match(&filter, &bare));
}

// Without a bound on the text a process could make every try of a caller's glob cost seconds.
static void test_long_text(void **state) {
    (void)state;
    static char text[1 << 20];
    memset(text, 'a', sizeof text - 1);
    Facts long_facts = {.entry_assembly = text};
    Traits long_traits = {.pid = 1, .facts = &long_facts};
    Filter front = {.entry_assembly = (char[]){"aaa*"}};
    Filter anywhere = {.entry_assembly = (char[]){"*b*"}};
    assert_true(filter_match(&front, &long_traits));
    assert_false(filter_match(&anywhere, &long_traits));
    text[BOUND_PATTERN_TEXT] = 'b';
    assert_false(filter_match(&anywhere, &long_traits));
    text[BOUND_PATTERN_TEXT - 1] = 'b';
    assert_true(filter_match(&anywhere, &long_traits));
    // Characters are counted.
    for (size_t i = 0; i < sizeof text - 2; i += 2)
        memcpy(text + i, "\u00fc", 2);
    text[2 * BOUND_PATTERN_TEXT - 2] = 'a';
    text[2 * BOUND_PATTERN_TEXT - 1] = 'b';
    assert_false(filter_match(&anywhere, &long_traits));
    text[2 * BOUND_PATTERN_TEXT - 2] = 'b';
    assert_true(filter_match(&anywhere, &long_traits));
}

// A matcher that tries every star again takes years for these.
static void test_hostile_glob(void **state) {
    (void)state;
    char name[BOUND_PATTERN_TEXT + 1] = "", ranges[BOUND_PATTERN + 1] = "*";
    char stars[BOUND_PATTERN + 1] = "";
    memset(name, 'a', sizeof name - 1);
    while (strlen(ranges) + strlen("[a-z]b") <= BOUND_PATTERN)
        strcat(ranges, "[a-z]");
    while (strlen(stars) + strlen("*ab") <= BOUND_PATTERN)
        strcat(stars, "*a");
    strcat(ranges, "b");
    strcat(stars, "b");
    Facts hostile_facts = {.entry_assembly = name, .unit = name};
    Traits hostile = {.pid = 1, .facts = &hostile_facts};
    Filter by_ranges = {.entry_assembly = ranges}, by_stars = {.unit = stars};
    clock_t begin = clock();
    for (int i = 0; i < 1000; i++) {
        assert_false(filter_match(&by_ranges, &hostile));
        assert_false(filter_match(&by_stars, &hostile));
    }
    assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
}

// Whatever the locale, which is "C" here.
static void test_characters(void **state) {
    (void)state;
    Facts umlaut_facts = {.entry_assembly = (char[]){"\u00fc"}};
    Traits umlaut = {.pid = 1, .facts = &umlaut_facts};
    assert_true(filter_match(&(Filter){.entry_assembly = (char[]){"?"}}, &umlaut));
    assert_true(filter_match(&(Filter){.entry_assembly = (char[]){"[\u00fb-\u00fd]"}}, &umlaut));
    assert_false(filter_match(&(Filter){.entry_assembly = (char[]){"??"}}, &umlaut));
}

static void test_same_texts(void **state) {
    (void)state;
    Traits other = traits;
    other.state = STATE_GONE;
    other.uid = 0;
    assert_true(filter_same_texts(&traits, &other));
    other.command[0] = 'D';
    assert_false(filter_same_texts(&traits, &other));
    other = traits;
    other.facts = NULL;
    assert_false(filter_same_texts(&traits, &other));
}

static void test_visibility(void **state) {
    (void)state;
    const Viewer all = {.uid = 5, .sees_all = true};
    const Viewer same = {.uid = 1000};
    const Viewer other = {.uid = 1001};
    const Viewer unknown = {.uid = UID_UNKNOWN};
    assert_true(viewer_sees(&all, &traits));
    assert_true(viewer_sees(&all, &bare));
    assert_true(viewer_sees(&same, &traits));
    assert_false(viewer_sees(&same, &bare));
    assert_false(viewer_sees(&other, &traits));
    assert_false(viewer_sees(&unknown, &bare));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_pattern_bound),
        cmocka_unit_test(test_match),        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_hostile_glob), cmocka_unit_test(test_characters),
        cmocka_unit_test(test_same_texts),   cmocka_unit_test(test_visibility),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
