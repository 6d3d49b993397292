// scrub.c: what the daemon escaped passes, what somebody else did not is escaped, at any depth.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"
#include "scrub.h"
#include "varlink.h"

static json_t *load(const char *text) {
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    return value;
}

static void makes_strings_safe(void **state) {
    (void)state;
    static const struct {
        const char *before, *after; // JSON
    } values[] = {
        {"\"\"", "\"\""},
        {"\"plain\"", "\"plain\""},
        {"\"gr\xc3\xbc\xc3\x9f\"", "\"gr\xc3\xbc\xc3\x9f\""},
        {"\"\\\\x0a and \\\\\\\\\"", "\"\\\\x0a and \\\\\\\\\""},
        {"\"\\n\"", "\"\\\\x0a\""},
        {"\"\\u001b]0;x\\u0007\"", "\"\\\\x1b]0;x\\\\x07\""},
        {"\"\\u007f\"", "\"\\\\x7f\""},
        {"\"\\u009b\"", "\"\\\\xc2\\\\x9b\""},
        {"\"\\u202e\"", "\"\\\\xe2\\\\x80\\\\xae\""},
        {"\"\\\\x41\\t\"", "\"\\\\\\\\x41\\\\x09\""},
        {"[1,[\"a\",{\"b\":[\"\\r\"]}],null,true]", "[1,[\"a\",{\"b\":[\"\\\\x0d\"]}],null,true]"},
        {"{\"a\":\"\\b\",\"c\":{\"d\":\"\\f\"}}", "{\"a\":\"\\\\x08\",\"c\":{\"d\":\"\\\\x0c\"}}"},
        {"17", "17"},
        {"{}", "{}"},
    };
    for (size_t i = 0; i < ELEMENTS_OF(values); i++) {
        _cleanup_json_ json_t *value = load(values[i].before);
        assert_int_equal(scrub(value), 0);
        _cleanup_free_ char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        assert_string_equal(text, values[i].after);
    }
}

static void refuses_names(void **state) {
    (void)state;
    static const char *const values[] = {
        "{\"\\n\":1}",
        "{\"a\":1,\"\\u009b\":2}",
        "{\"a\":[{\"\\u001b\":3}]}",
    };
    for (size_t i = 0; i < ELEMENTS_OF(values); i++) {
        _cleanup_json_ json_t *value = load(values[i]);
        assert_int_equal(scrub(value), -EBADMSG);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_strings_safe),
        cmocka_unit_test(refuses_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
