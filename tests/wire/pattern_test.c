// The matcher by a table and against the C library's, and that no pattern takes long.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "macro.h"
#include "pattern.h"

static const struct {
    const char *pattern;
    const char *text;
    bool matches;
} cases[] = {
    {"", "", true},
    {"", "a", false},
    {"a", "", false},
    {"*", "", true},
    {"**", "", true},
    {"?", "", false},
    {"*?", "", false},
    {"abc", "abc", true},
    {"abc", "abcd", false},
    {"abc", "ab", false},
    {"*c", "abcc", true},
    {"a*b*c", "aXbXbXc", true},
    {"a*b*c", "aXcXb", false},
    {"*ab*ab", "abab", true},
    {"*ab*ab", "abXb", false},
    {"*", "/.a", true},
    {"?", "/", true},
    {"My*.dll", "MyApp.dll", true},

    {"[abc]", "b", true},
    {"[abc]", "d", false},
    {"[a-c]", "b", true},
    {"[c-a]", "b", false},
    {"[!a-c]", "b", false},
    {"[^a-c]", "d", true},
    {"[]a]", "]", true},
    {"[!]a]", "b", true},
    {"[!]a]", "]", false},
    {"[a-]", "-", true},
    {"[-a]", "-", true},
    {"[--0]", ".", true},
    {"[a-b-d]", "c", false},
    {"[a-b-d]", "-", true},
    {"[*?]", "*", true},
    {"[*?]", "x", false},
    {"[a]", "ab", false},
    {"*[0-9]", "net10", true},

    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\\\x1b", "\\x1b", true},
    {"[\\]]", "]", true},
    {"[a\\-c]", "b", false},
    {"[a\\-c]", "-", true},
    {"[a-\\c]", "b", true},
    {"\\", "\\", false},
    {"a\\", "a", false},
    {"a\\", "a\\", false},

    {"[", "[", true},
    {"[a", "[a", true},
    {"[a", "a", false},
    {"*[", "a[", true},
    {"[]", "[]", true},
    {"[!]", "[!]", true},
    {"[a\\]", "[a]", true},
    {"[\\", "[\\", false},
    {"[[a", "[[a", true},
    {"[a][b", "a[b", true},

    {"?", "\u00fc", true},
    {"??", "\u00fc", false},
    {"[\u00e9-\u00fc]", "\u00f6", true},
    {"[!\u00e9]", "\u00e8", true},
    {"x*\u00fc", "x\u00fc\u00fc\u00fc", true},
    {"[\u4e00-\u9fff]?", "\u65e5\U0001f600", true},
    {"[\U0001f600-\U0001f64f]", "\U0001f610", true},
    // A byte that is not UTF-8 is one character and like no other.
    {"?", "\xff", true},
    {"?", "\xc3", true},
    {"\xc3", "\xc3", true},
    {"\xc3", "\xc3\xbc", false},
    {"??", "\xf0\x9f", true},
    {"\xff", "\u00ff", false},
};

static void each_case_is_told_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        if (pattern_match(cases[i].pattern, cases[i].text) != cases[i].matches)
            fail_msg("%s on %s", cases[i].pattern, cases[i].text);
}

static void pick(char *text, size_t size, const char *letters) {
    size_t length = (size_t)random() % size;
    for (size_t i = 0; i < length; i++)
        text[i] = letters[(size_t)random() % strlen(letters)];
    text[length] = '\0';
}

// But for an unclosed bracket whose last range has no end, which fnmatch() takes in two ways.
static bool is_odd(const char *pattern) {
    size_t length = strlen(pattern);
    return length > 0 && pattern[length - 1] == '-' && strchr(pattern, '[');
}

static void it_is_as_the_c_library_has_it(void **state) {
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    srandom(seed);
    for (int i = 0; i < 300000; i++) {
        char pattern[10], text[10];
        pick(pattern, sizeof pattern, i % 2 ? "ab**?[]" : "abc*?[]!^-\\");
        pick(text, sizeof text, i % 2 ? "ab" : "abc[]!-\\");
        if (!is_odd(pattern) && pattern_match(pattern, text) != (fnmatch(pattern, text, 0) == 0))
            fail_msg("seed %u: %s on %s", seed, pattern, text);
    }
}

static void repeat(char *out, size_t size, const char *first, const char *again, const char *last) {
    strcpy(out, first);
    while (strlen(out) + strlen(again) + strlen(last) < size)
        strcat(out, again);
    strcat(out, last);
}

// A matcher that tries all stars again, or all brackets to the end, takes a time for these that
// grows with more than the product of the sizes.
static void nothing_takes_long(void **state) {
    (void)state;
    static const char *const patterns[][3] = {
        {"", "*a", "b"}, {"*", "[a-z]", "b"}, {"*", "[", "b"}, {"*[", "a", "b"}, {"*", "[!b", ""},
    };
    static char text[1 << 12], pattern[1 << 12];
    const char *const letters[] = {"a", "["};
    clock_t begin = clock();
    for (size_t i = 0; i < ELEMENTS_OF(patterns); i++) {
        repeat(pattern, sizeof pattern, patterns[i][0], patterns[i][1], patterns[i][2]);
        for (size_t j = 0; j < ELEMENTS_OF(letters); j++) {
            repeat(text, sizeof text, "", letters[j], "");
            assert_false(pattern_match(pattern, text));
        }
    }
    // Ten times 16 Mi steps at most; what grows faster takes minutes.
    assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_is_told_apart),
        cmocka_unit_test(it_is_as_the_c_library_has_it),
        cmocka_unit_test(nothing_takes_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
