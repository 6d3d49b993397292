// command_line.c: options wherever they stand, and what is no command line.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command_line.h"
#include "discovery_names.h"
#include "instant.h"
#include "macro.h"

// Splits at blanks: a test's arguments have none of their own.
static int parse(const char *text, CommandLine *ret) {
    static char words[256], *argv[16];
    int argc = 0;
    snprintf(words, sizeof words, "ctl %s", text);
    for (char *place, *word = strtok_r(words, " ", &place); word;
         word = strtok_r(NULL, " ", &place))
        argv[argc++] = word;
    argv[argc] = NULL;
    return command_line_parse(argc, argv, ret);
}

static void has_defaults(void **state) {
    (void)state;
    CommandLine line;
    assert_int_equal(parse("", &line), COMMAND_LINE_RUN);
    assert_string_equal(line.command, "list");
    assert_int_equal(line.argument_count, 0);
    assert_string_equal(line.socket, DISCOVERY_SOCKET_PATH);
    assert_int_equal(line.format, FORMAT_TEXT);
    assert_true(line.legend);
    assert_true(line.pager);
    assert_true(line.timeout_us == USEC_NEVER);
}

static void finds_options_anywhere(void **state) {
    (void)state;
    CommandLine line;
    assert_int_equal(
        parse("--no-legend wait pid=1 --timeout=2min state=gone --socket /s --no-pager "
              "--json=pretty",
              &line),
        COMMAND_LINE_RUN);
    assert_string_equal(line.command, "wait");
    assert_int_equal(line.argument_count, 2);
    assert_string_equal(line.arguments[0], "pid=1");
    assert_string_equal(line.arguments[1], "state=gone");
    assert_string_equal(line.socket, "/s");
    assert_int_equal(line.format, FORMAT_JSON_PRETTY);
    assert_false(line.legend);
    assert_false(line.pager);
    assert_true(line.timeout_us == 120 * USEC_PER_SEC);
}

static void takes_the_last_format(void **state) {
    (void)state;
    CommandLine line;
    assert_int_equal(parse("-j", &line), COMMAND_LINE_RUN);
    assert_int_equal(line.format, FORMAT_JSON_FITTING);
    assert_int_equal(parse("-j --json=short", &line), COMMAND_LINE_RUN);
    assert_int_equal(line.format, FORMAT_JSON_SHORT);
    assert_int_equal(parse("--json=short --json=off", &line), COMMAND_LINE_RUN);
    assert_int_equal(line.format, FORMAT_TEXT);
}

static void leaves_what_follows_two_dashes(void **state) {
    (void)state;
    CommandLine line;
    assert_int_equal(parse("show -- -j", &line), COMMAND_LINE_RUN);
    assert_int_equal(line.argument_count, 1);
    assert_string_equal(line.arguments[0], "-j");
}

static void tells_help_and_version(void **state) {
    (void)state;
    CommandLine line;
    assert_int_equal(parse("--help", &line), COMMAND_LINE_HELP);
    assert_int_equal(parse("show -h", &line), COMMAND_LINE_HELP);
    assert_int_equal(parse("--version", &line), COMMAND_LINE_VERSION);
}

static void refuses(void **state) {
    (void)state;
    static const char *const lines[] = {
        "--nonsense",
        "-x",
        "--json",
        "--json=",
        "--json=long",
        "--no-legend=yes",
        "--socket=",
        "wait --timeout=",
        "wait --timeout=0",
        "wait --timeout=soon",
        "wait --timeout=-1",
        "list --timeout=5",
        "list --all",
        "-a",
        "--timeout=5",
    };
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++) {
        CommandLine line = {.command = "untouched"};
        assert_int_equal(parse(lines[i], &line), -EINVAL);
        assert_string_equal(line.command, "untouched");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_defaults),           cmocka_unit_test(finds_options_anywhere),
        cmocka_unit_test(takes_the_last_format),  cmocka_unit_test(leaves_what_follows_two_dashes),
        cmocka_unit_test(tells_help_and_version), cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
