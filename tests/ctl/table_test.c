// table.c: widths, alignment, styles, and what gives way on a narrow terminal.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <locale.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"
#include "table.h"

static const TableColumn columns[] = {
    {.title = "PID", .right = true},
    {.title = "STATE"},
    {.title = "ENTRY", .flexible = true},
    {.title = "SINCE"},
};

static void add_rows(Table *table) {
    table_init(table, columns, ELEMENTS_OF(columns));
    table_add(table, STYLE_PLAIN, "%d", 7);
    table_add(table, STYLE_BAD, "unreachable");
    table_add(table, STYLE_PLAIN, "Hello");
    table_add(table, STYLE_PLAIN, "today");
    table_add(table, STYLE_PLAIN, "%d", 4711);
    table_add(table, STYLE_GOOD, "ready");
    table_add(table, STYLE_PLAIN,
              "Gr\xc3\xbc\xc3\x9f"
              "e from an application");
    table_add(table, STYLE_PLAIN, "-");
}

static char *print(const Table *table, TableLook look) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_int_equal(table_print(table, file, look), 0);
    assert_int_equal(fclose(file), 0); // which may move the text
    return text;
}

static void aligns(void **state) {
    (void)state;
    _cleanup_(table_done) Table table;
    add_rows(&table);
    _cleanup_free_ char *text = print(&table, (TableLook){.header = true, .utf8 = true});
    assert_string_equal(text, " PID STATE       ENTRY                     SINCE\n"
                              "   7 unreachable Hello                     today\n"
                              "4711 ready       Gr\xc3\xbc\xc3\x9f"
                              "e from an application -\n");
}

static void leaves_out_the_header(void **state) {
    (void)state;
    static const TableColumn two[] = {{.right = true}, {.right = false}};
    _cleanup_(table_done) Table table;
    table_init(&table, two, ELEMENTS_OF(two));
    table_add(&table, STYLE_PLAIN, "State:");
    table_add(&table, STYLE_PLAIN, "ready");
    table_add(&table, STYLE_PLAIN, "PID:");
    table_add(&table, STYLE_PLAIN, "%s", "");
    _cleanup_free_ char *text = print(&table, (TableLook){.utf8 = true});
    assert_string_equal(text, "State: ready\n"
                              "  PID: \n");
}

static void prints_nothing_but_the_header_of_an_empty_table(void **state) {
    (void)state;
    _cleanup_(table_done) Table table;
    table_init(&table, columns, ELEMENTS_OF(columns));
    _cleanup_free_ char *text = print(&table, (TableLook){.header = true});
    assert_string_equal(text, "PID STATE ENTRY SINCE\n");
}

static void shortens_what_is_flexible(void **state) {
    (void)state;
    _cleanup_(table_done) Table table;
    add_rows(&table);
    TableLook look = {.header = true, .utf8 = true, .width = 40};
    _cleanup_free_ char *with_ellipsis = print(&table, look);
    assert_string_equal(with_ellipsis, " PID STATE       ENTRY             SINCE\n"
                                       "   7 unreachable Hello             today\n"
                                       "4711 ready       Gr\xc3\xbc\xc3\x9f"
                                       "e from an ap\u2026 -\n");
    look.utf8 = false;
    _cleanup_free_ char *with_dots = print(&table, look);
    assert_string_equal(with_dots, " PID STATE       ENTRY             SINCE\n"
                                   "   7 unreachable Hello             today\n"
                                   "4711 ready       Gr\xc3\xbc\xc3\x9f"
                                   "e from an ... -\n");
}

static void shortens_the_rest_when_flexible_columns_are_not_enough(void **state) {
    (void)state;
    _cleanup_(table_done) Table table;
    add_rows(&table);
    _cleanup_free_ char *narrow = print(&table, (TableLook){.utf8 = true, .width = 26});
    assert_string_equal(narrow, "   7 unreachab\u2026 Hel\u2026 today\n"
                                "4711 ready      Gr\xc3\xbc\u2026 -\n");
    _cleanup_free_ char *dots = print(&table, (TableLook){.width = 7});
    assert_string_equal(dots, "7 u H t\n4 r G -\n");
    _cleanup_free_ char *least = print(&table, (TableLook){.utf8 = true, .width = 1});
    assert_string_equal(least, "7 \u2026 \u2026 \u2026\n\u2026 \u2026 \u2026 -\n");
}

static void keeps_the_usual_width(void **state) {
    (void)state;
    static const TableColumn two[] = {{.title = "A", .flexible = true, .usual = 14},
                                      {.title = "B", .flexible = true, .usual = 4}};
    _cleanup_(table_done) Table table;
    table_init(&table, two, ELEMENTS_OF(two));
    table_add(&table, STYLE_PLAIN, "a");
    table_add(&table, STYLE_PLAIN, "0123456789");
    _cleanup_free_ char *wide = print(&table, (TableLook){.header = true, .utf8 = true});
    assert_string_equal(wide, "A              B\n"
                              "a              0123456789\n");
    // What is more than usual goes first, so that lines stay aligned.
    _cleanup_free_ char *narrow = print(&table, (TableLook){.utf8 = true, .width = 20});
    assert_string_equal(narrow, "a              0123\u2026\n");
}

static void wraps(void **state) {
    (void)state;
    static const TableColumn two[] = {{.right = true}, {.wraps = true}};
    _cleanup_(table_done) Table table;
    table_init(&table, two, ELEMENTS_OF(two));
    table_add(&table, STYLE_PLAIN, "Long:");
    table_add(&table, STYLE_GOOD, "three short words, and onelongword");
    table_add(&table, STYLE_PLAIN, "None:");
    table_add(&table, STYLE_PLAIN, "%s", "");
    _cleanup_free_ char *text = print(&table, (TableLook){.utf8 = true, .width = 14});
    assert_string_equal(text, "Long: three\n"
                              "      short\n"
                              "      words,\n"
                              "      and\n"
                              "      onelongw\n"
                              "      ord\n"
                              "None: \n");
    _cleanup_free_ char *whole = print(&table, (TableLook){.utf8 = true});
    assert_string_equal(whole, "Long: three short words, and onelongword\nNone: \n");
}

static void wraps_between_wide_characters(void **state) {
    (void)state;
    static const TableColumn one[] = {{.wraps = true}};
    _cleanup_(table_done) Table table;
    table_init(&table, one, 1);
    table_add(&table, STYLE_GOOD, "\u65e5\u672c\u8a9e");
    TableLook look = {.utf8 = true, .colours = true, .width = 5};
    _cleanup_free_ char *text = print(&table, look);
    assert_string_equal(text, "\033[32m\u65e5\u672c\033[0m\n\033[32m\u8a9e\033[0m\n");
    look.width = 1; // no character fits; each has a line all the same
    _cleanup_free_ char *narrow = print(&table, look);
    assert_string_equal(narrow, "\033[32m\u65e5\033[0m\n\033[32m\u672c\033[0m\n"
                                "\033[32m\u8a9e\033[0m\n");
}

static void colours(void **state) {
    (void)state;
    static const TableColumn two[] = {{.title = "A"}, {.title = "BB"}};
    _cleanup_(table_done) Table table;
    table_init(&table, two, ELEMENTS_OF(two));
    table_add(&table, STYLE_GOOD, "xx");
    table_add(&table, STYLE_PLAIN, "y");
    _cleanup_free_ char *text = print(&table, (TableLook){.header = true, .colours = true});
    assert_string_equal(text, "\033[4mA  \033[0m\033[4mBB\033[0m\n"
                              "\033[32mxx\033[0m y\n");
    _cleanup_free_ char *plain = print(&table, (TableLook){.header = true});
    assert_null(strchr(plain, '\033'));
}

static void measures_what_a_terminal_shows(void **state) {
    (void)state;
    assert_int_equal(table_text_width(""), 0);
    assert_int_equal(table_text_width("abc"), 3);
    assert_int_equal(table_text_width("gr\xc3\xbc\xc3\x9f"), 4);
    assert_int_equal(table_text_width("\xe6\x97\xa5\xe6\x9c\xac"), 4); // wide
    assert_int_equal(table_text_width("e\xcc\x81"), 1);                // combining
    assert_int_equal(table_text_width("a\xff"
                                      "b\xc3"),
                     4); // not UTF-8
}

static void grows(void **state) {
    (void)state;
    static const TableColumn one[] = {{.right = true}};
    _cleanup_(table_done) Table table;
    table_init(&table, one, 1);
    for (int i = 0; i < 1000; i++)
        table_add(&table, STYLE_PLAIN, "%d", i);
    _cleanup_free_ char *text = print(&table, (TableLook){0});
    assert_int_equal(strlen(text), 4000);
    assert_string_equal(text + 3996, "999\n");
}

static int use_utf8(void **state) {
    (void)state;
    return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligns),
        cmocka_unit_test(leaves_out_the_header),
        cmocka_unit_test(prints_nothing_but_the_header_of_an_empty_table),
        cmocka_unit_test(shortens_what_is_flexible),
        cmocka_unit_test(shortens_the_rest_when_flexible_columns_are_not_enough),
        cmocka_unit_test(keeps_the_usual_width),
        cmocka_unit_test(wraps),
        cmocka_unit_test(wraps_between_wide_characters),
        cmocka_unit_test(colours),
        cmocka_unit_test(measures_what_a_terminal_shows),
        cmocka_unit_test(grows),
    };
    return cmocka_run_group_tests(tests, use_utf8, NULL);
}
