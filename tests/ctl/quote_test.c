// quote.c: arguments as bash would read them.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"
#include "quote.h"

static void quotes(void **state) {
    (void)state;
    static const struct {
        const char *shown, *quoted;
    } arguments[] = {
        {"", "''"},
        {"dotnet", "dotnet"},
        {"/usr/bin/a-b_c.dll", "/usr/bin/a-b_c.dll"},
        {"--urls=http://+:80", "--urls=http://+:80"},
        {"My App.dll", "'My App.dll'"},
        {"it's", "'it'\\''s'"},
        {"'", "''\\'''"},
        {"$HOME", "'$HOME'"},
        {"`id`", "'`id`'"},
        {"a;b", "'a;b'"},
        {"~", "'~'"},
        {"gr\xc3\xbc\xc3\x9f", "'gr\xc3\xbc\xc3\x9f'"},
        {"a\\\\b", "$'a\\\\b'"},
        {"\\xff\\x0a", "$'\\xff\\x0a'"},
        {"\\x41'", "$'\\x41\\''"},
    };
    for (size_t i = 0; i < ELEMENTS_OF(arguments); i++) {
        _cleanup_free_ char *quoted = quote_argument(arguments[i].shown);
        assert_string_equal(quoted, arguments[i].quoted);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
