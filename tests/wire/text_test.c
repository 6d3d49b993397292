// text.c: what passes, what is escaped and what is UTF-16.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "exact.h"
#include "failing_malloc.h"
#include "macro.h"
#include "text.h"

#define BYTES(literal) literal, sizeof(literal) - 1

static const struct {
    const char *bytes;
    size_t size;
    const char *text;
} escapes[] = {
    {BYTES(""), ""},
    {BYTES("/usr/share/dotnet/dotnet"), "/usr/share/dotnet/dotnet"},
    {BYTES(" !\"#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~"), " !\"#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~"},
    {BYTES("a\\b"), "a\\\\b"},
    {BYTES("\\x41"), "\\\\x41"},

    // UTF-8: the first and the last of each length, and around what is left out.
    {BYTES("\xc2\xa0"), "\xc2\xa0"},
    {BYTES("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f"},
    {BYTES("\xdf\xbf"), "\xdf\xbf"},
    {BYTES("\xe0\xa0\x80"), "\xe0\xa0\x80"},
    {BYTES("\xe6\x97\xa5\xe6\x9c\xac"), "\xe6\x97\xa5\xe6\x9c\xac"},
    {BYTES("\xed\x9f\xbf"), "\xed\x9f\xbf"},
    {BYTES("\xee\x80\x80"), "\xee\x80\x80"},
    {BYTES("\xef\xbf\xbd"), "\xef\xbf\xbd"},
    {BYTES("\xf0\x90\x80\x80"), "\xf0\x90\x80\x80"},
    {BYTES("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80"},
    {BYTES("\xf4\x8f\xbf\xbd"), "\xf4\x8f\xbf\xbd"},

    // Noncharacters, and their neighbours.
    {BYTES("\xef\xb7\x8f"), "\xef\xb7\x8f"},
    {BYTES("\xef\xb7\x90"), "\\xef\\xb7\\x90"},
    {BYTES("\xef\xb7\xaf"), "\\xef\\xb7\\xaf"},
    {BYTES("\xef\xb7\xb0"), "\xef\xb7\xb0"},
    {BYTES("\xef\xbf\xbe"), "\\xef\\xbf\\xbe"},
    {BYTES("\xef\xbf\xbf"), "\\xef\\xbf\\xbf"},
    {BYTES("\xf0\x9f\xbf\xbe"), "\\xf0\\x9f\\xbf\\xbe"},
    {BYTES("\xf4\x8f\xbf\xbf"), "\\xf4\\x8f\\xbf\\xbf"},

    // Not UTF-8: alone, cut, overlong, surrogates, beyond the last.
    {BYTES("\x80"), "\\x80"},
    {BYTES("\xbf"
           "a"),
     "\\xbfa"},
    {BYTES("\xc0\x80"), "\\xc0\\x80"},
    {BYTES("\xc1\xbf"), "\\xc1\\xbf"},
    {BYTES("\xc3"), "\\xc3"},
    {BYTES("\xc3"
           "a"),
     "\\xc3a"},
    {BYTES("\xc3\xc3\xbc"), "\\xc3\xc3\xbc"},
    {BYTES("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf"},
    {BYTES("\xe6\x97"), "\\xe6\\x97"},
    {BYTES("\xe6\x97"
           "a"),
     "\\xe6\\x97a"},
    {BYTES("\xe6"
           "aa"),
     "\\xe6aa"},
    {BYTES("\xed\xa0\x80"), "\\xed\\xa0\\x80"},
    {BYTES("\xed\xbf\xbf"), "\\xed\\xbf\\xbf"},
    {BYTES("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf"},
    {BYTES("\xf0\x9f\x98"), "\\xf0\\x9f\\x98"},
    {BYTES("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"},
    {BYTES("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80"},
    {BYTES("\xff\xfe"), "\\xff\\xfe"},

    // Control characters.
    {BYTES("\0"), "\\x00"},
    {BYTES("a\0b"), "a\\x00b"},
    {BYTES("\t\n\r\x1f"), "\\x09\\x0a\\x0d\\x1f"},
    {BYTES("\x1b]0;title\x07"), "\\x1b]0;title\\x07"},
    {BYTES("\x7f"), "\\x7f"},
    {BYTES("\xc2\x80"), "\\xc2\\x80"},
    {BYTES("\xc2\x9b"
           "31m"),
     "\\xc2\\x9b31m"},
    {BYTES("\xc2\x9f"), "\\xc2\\x9f"},

    // What turns text around, and its neighbours.
    {BYTES("\xd8\x9b\xd8\x9c\xd8\x9d"), "\xd8\x9b\\xd8\\x9c\xd8\x9d"},
    {BYTES("\xe2\x80\x8d"), "\xe2\x80\x8d"},
    {BYTES("\xe2\x80\x8e"), "\\xe2\\x80\\x8e"},
    {BYTES("\xe2\x80\x8f"), "\\xe2\\x80\\x8f"},
    {BYTES("\xe2\x80\x90"), "\xe2\x80\x90"},
    {BYTES("\xe2\x80\xa7"), "\xe2\x80\xa7"},
    {BYTES("\xe2\x80\xa8"), "\\xe2\\x80\\xa8"},
    {BYTES("\xe2\x80\xae"), "\\xe2\\x80\\xae"}, // NOLINT(misc-misleading-bidirectional)
    {BYTES("\xe2\x80\xaf"), "\xe2\x80\xaf"},
    {BYTES("\xe2\x81\xa5"), "\xe2\x81\xa5"},
    {BYTES("\xe2\x81\xa6"), "\\xe2\\x81\\xa6"}, // NOLINT(misc-misleading-bidirectional)
    {BYTES("\xe2\x81\xa9"), "\\xe2\\x81\\xa9"},
    {BYTES("\xe2\x81\xaa"), "\xe2\x81\xaa"},
};

static void each_text_is_escaped(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(escapes); i++) {
        _cleanup_free_ char *bytes = exact_bytes(escapes[i].bytes, escapes[i].size);
        _cleanup_free_ char *text = text_escape(bytes, escapes[i].size);
        assert_non_null(text);
        assert_string_equal(text, escapes[i].text);
    }
}

static bool is_well_formed(const char *text) {
    // Escaping leaves what is well-formed and safe alone, but for backslashes.
    _cleanup_free_ char *again = text_escape(text, strlen(text));
    size_t backslashes = 0;
    for (const char *p = text; *p; p++)
        backslashes += *p == '\\';
    return again && strlen(again) == strlen(text) + backslashes;
}

static void every_pair_of_bytes_gives_safe_text(void **state) {
    (void)state;
    for (unsigned pair = 0; pair <= UINT16_MAX; pair++) {
        char bytes[] = {'a', (char)(pair >> 8), (char)(pair & 0xff), 'z'};
        _cleanup_free_ char *text = text_escape(bytes, sizeof bytes);
        assert_non_null(text);
        assert_int_equal(text[0], 'a');
        assert_int_equal(text[strlen(text) - 1], 'z');
        assert_true(is_well_formed(text));
    }
}

// In UTF-8's scheme, in so many bytes, whether that is the shortest form or not.
static void encode(uint32_t c, size_t size, char *bytes) {
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(leads[size] | c);
}

// Whether each reader takes it: systemd, the strictest, leaves out surrogates and noncharacters;
// terminals obey the rest.
static bool is_for_all(uint32_t c) {
    static const uint32_t left_out[][2] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
        {0xd800, 0xdfff}, {0xfdd0, 0xfdef}, {0x110000, UINT32_MAX},
    };
    for (size_t i = 0; i < ELEMENTS_OF(left_out); i++)
        if (c >= left_out[i][0] && c <= left_out[i][1])
            return false;
    return c % 0x10000 < 0xfffe;
}

static void assert_escaped(uint32_t c, size_t size, bool shown) {
    char bytes[4], wanted[17] = "";
    encode(c, size, bytes);
    if (shown)
        snprintf(wanted, sizeof wanted, "%s%.*s", c == '\\' ? "\\" : "", (int)size, bytes);
    for (size_t i = 0; i < size && !shown; i++)
        snprintf(wanted + 4 * i, 5, "\\x%02x", (uint8_t)bytes[i]);

    _cleanup_free_ char *text = text_escape(bytes, size);
    assert_non_null(text);
    if (strcmp(text, wanted) != 0)
        fail_msg("U+%04X in %zu bytes is \"%s\", not \"%s\"", c, size, text, wanted);
}

static void every_code_point_is_shown_or_escaped(void **state) {
    (void)state;
    static const uint32_t ends[] = {0, 0x80, 0x800, 0x10000, 0x200000};
    uint32_t c = 0;
    for (size_t size = 1; size < ELEMENTS_OF(ends); size++)
        for (; c < ends[size]; c++)
            assert_escaped(c, size, is_for_all(c));
}

static void every_longer_form_is_escaped(void **state) {
    (void)state;
    static const uint32_t shorter_ends[] = {0, 0, 0x80, 0x800, 0x10000};
    for (size_t size = 2; size < ELEMENTS_OF(shorter_ends); size++)
        for (uint32_t c = 0; c < shorter_ends[size]; c++)
            assert_escaped(c, size, false);
}

static void each_text_may_end_anywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(escapes); i++) {
        for (size_t size = 0; size < escapes[i].size; size++) {
            _cleanup_free_ char *bytes = exact_bytes(escapes[i].bytes, size);
            _cleanup_free_ char *text = text_escape(bytes, size);
            assert_non_null(text);
            assert_true(is_well_formed(text));
        }
    }
}

static void nothing_at_all_is_an_empty_text(void **state) {
    (void)state;
    _cleanup_free_ char *text = text_escape(NULL, 0);
    assert_non_null(text);
    assert_string_equal(text, "");
}

#define UNITS(...) (const uint16_t[]){__VA_ARGS__}, sizeof((uint16_t[]){__VA_ARGS__}) / 2

static const struct {
    const uint16_t *units;
    size_t count;
    const char *text;
} utf16[] = {
    {UNITS(0), ""},
    {UNITS('L', 'i', 'n', 'u', 'x', 0), "Linux"},
    {UNITS('n', 'o', ' ', 'N', 'U', 'L'), "no NUL"},
    {UNITS('a', 0, 'b', 0), "a"},
    {UNITS(0x7f, 0x80, 0x7ff, 0x800), "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80"},
    {UNITS(0xd7ff, 0xe000, 0xfffd, 0xffff), "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbd\xef\xbf\xbf"},
    {UNITS(0xd800, 0xdc00), "\xf0\x90\x80\x80"},
    {UNITS(0xd83d, 0xde00, '!'), "\xf0\x9f\x98\x80!"},
    {UNITS(0xdbff, 0xdfff), "\xf4\x8f\xbf\xbf"},
    // Lone surrogates: at the end, before a NUL, before something else, the wrong way round.
    {UNITS(0xd83d), "\xed\xa0\xbd"},
    {UNITS(0xd83d, 0, 0xde00), "\xed\xa0\xbd"},
    {UNITS(0xd83d, 'a'), "\xed\xa0\xbd"
                         "a"},
    {UNITS(0xd83d, 0xd83d, 0xde00), "\xed\xa0\xbd\xf0\x9f\x98\x80"},
    {UNITS(0xde00, 0xd83d), "\xed\xb8\x80\xed\xa0\xbd"},
};

static uint8_t *little_endian(const uint16_t *units, size_t count) {
    uint8_t *bytes = malloc(2 * count + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++) {
        bytes[2 * i] = (uint8_t)units[i];
        bytes[2 * i + 1] = (uint8_t)(units[i] >> 8);
    }
    // The spare byte only keeps malloc() from being asked for nothing.
    return bytes;
}

static void utf16_becomes_utf8(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(utf16); i++) {
        _cleanup_free_ uint8_t *bytes = little_endian(utf16[i].units, utf16[i].count);
        _cleanup_free_ char *text = NULL;
        assert_int_equal(text_from_utf16le(bytes, utf16[i].count, &text), 0);
        assert_string_equal(text, utf16[i].text);
    }
    _cleanup_free_ char *none = NULL;
    assert_int_equal(text_from_utf16le(NULL, 0, &none), 0);
    assert_string_equal(none, "");
}

static void a_lone_surrogate_is_shown_as_its_bytes(void **state) {
    (void)state;
    _cleanup_free_ char *text = NULL;
    assert_int_equal(text_from_utf16le((const uint8_t *)"a\0\x3d\xd8"
                                                        "b\0",
                                       3, &text),
                     0);
    _cleanup_free_ char *shown = text_escape(text, strlen(text));
    assert_string_equal(shown, "a\\xed\\xa0\\xbd"
                               "b");
}

static void without_memory_nothing_is_touched(void **state) {
    (void)state;
    char *untouched = (char *)escapes;
    failing_malloc_after(0);
    char *escaped = text_escape("abc", 3);
    int r = text_from_utf16le((const uint8_t *)"a\0", 1, &untouched);
    failing_malloc_stop();
    assert_null(escaped);
    assert_int_equal(r, -ENOMEM);
    assert_ptr_equal(untouched, escapes);
}

static void ascii_takes_one_allocation_and_the_rest_does_without_a_second(void **state) {
    (void)state;
    failing_malloc_after(1);
    char *plain = text_escape("plain", 5);
    failing_malloc_after(1);
    char *escaped = text_escape("\n", 1);
    char *decoded = NULL;
    failing_malloc_after(1);
    int r = text_from_utf16le((const uint8_t *)"a\0", 1, &decoded);
    failing_malloc_stop();

    assert_int_equal(r, 0);
    assert_string_equal(plain, "plain");
    assert_string_equal(escaped, "\\x0a");
    assert_string_equal(decoded, "a");
    free(plain);
    free(escaped);
    free(decoded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_is_escaped),
        cmocka_unit_test(every_pair_of_bytes_gives_safe_text),
        cmocka_unit_test(every_code_point_is_shown_or_escaped),
        cmocka_unit_test(every_longer_form_is_escaped),
        cmocka_unit_test(each_text_may_end_anywhere),
        cmocka_unit_test(nothing_at_all_is_an_empty_text),
        cmocka_unit_test(utf16_becomes_utf8),
        cmocka_unit_test(a_lone_surrogate_is_shown_as_its_bytes),
        cmocka_unit_test(without_memory_nothing_is_touched),
        cmocka_unit_test(ascii_takes_one_allocation_and_the_rest_does_without_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
