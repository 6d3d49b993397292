// unix_table.c against lines of a real /proc/PID/net/unix, and lines made to deceive it.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cleanup.h"
#include "exact.h"
#include "macro.h"
#include "unix_table.h"

#define LISTENS "00000002 00000000 00010000 0001 01"

// A path of NULL: not a listening stream socket with a path.
static const struct {
    const char *line;
    uint64_t inode;
    const char *path;
} lines[] = {
    // Of a running system with a .NET process.
    {"00000000b3f98d3e: 00000002 00000000 00010000 0001 01 62344 "
     "/tmp/dotnet-diagnostic-16786-127329-socket",
     62344, "/tmp/dotnet-diagnostic-16786-127329-socket"},
    {"0000000026d54008: 00000002 00000000 00010000 0001 01 63531 "
     "/tmp/wirecap/dotnet-diagnostic-16858-127493-socket",
     63531, "/tmp/wirecap/dotnet-diagnostic-16858-127493-socket"},
    {"Num       RefCount Protocol Flags    Type St Inode Path", 0, NULL},
    {"0000000062b05d88: 00000003 00000000 00000000 0001 03  1061", 0, NULL},
    // The accepted end of a connection has its listener's path.
    {"00000000e0d81e58: 00000003 00000000 00000000 0001 03 62374 "
     "/tmp/dotnet-diagnostic-16786-127329-socket",
     0, NULL},
    {"0000000000000000: 00000002 00000000 00010000 0005 01 12093 /run/udev/control", 0, NULL},
    {"0000000000000000: 00000003 00000000 00000000 0002 01 12080 /run/systemd/notify", 0, NULL},
    {"0000000000000000: 00000002 00000000 00010000 0001 01 12081 /run/systemd/private", 12081,
     "/run/systemd/private"},
    {"0000000000000000: 00000002 00000000 00010000 0001 01 20514 @/tmp/.X11-unix/X0", 0, NULL},

    // The address column, whatever the kernel hides it behind.
    {"0: " LISTENS "     7 /a", 7, "/a"},
    {"(____ptrval____): " LISTENS "     7 /a", 7, "/a"},
    {"ffff8881059d3c00: " LISTENS " 12345678901 /a", 12345678901, "/a"},

    // Paths are the rest of the line as it is.
    {"0: " LISTENS "    42 /tmp/with blanks /and more", 42, "/tmp/with blanks /and more"},
    {"0: " LISTENS "    42  begins with a blank", 42, " begins with a blank"},
    {"0: " LISTENS "    42 relative", 42, "relative"},
    {"0: " LISTENS "    42 /a: b", 42, "/a: b"},
    {"0: " LISTENS "    42 /\xff\x01\x1b[31m", 42, "/\xff\x01\x1b[31m"},
    {"0: " LISTENS "    42 /@a", 42, "/@a"},
    // Abstract, or bound as a relative "@a": they read the same.
    {"0: " LISTENS "    42 @a", 0, NULL},
    {"0: " LISTENS "    42 @", 0, NULL},

    // Not bound, not listening, not a stream.
    {"0: " LISTENS "    42", 0, NULL},
    {"0: " LISTENS "    42 ", 0, NULL},
    {"0: " LISTENS "     0 /a", 0, NULL},
    {"0: 00000002 00000000 00000000 0001 01    42 /a", 0, NULL},
    {"0: 00000002 00000000 00010000 0001 03    42 /a", 0, NULL},
    {"0: 00000002 00000000 00010000 0002 01    42 /a", 0, NULL},
    {"0: 00000002 00000000 00010000 0005 01    42 /a", 0, NULL},
    {"0: 00000002 00000000 0001000G 0001 01    42 /a", 0, NULL},

    // Not a line of the table: the second half of a path with a newline, for one.
    {"", 0, NULL},
    {": ", 0, NULL},
    {"/tmp/dotnet-diagnostic-1-1-socket", 0, NULL},
    {"0 " LISTENS " 42 /a", 0, NULL},
    {"0: 00000002 00000000 00010000 0001 42 /a", 0, NULL},
    {"0: 00000002  00000000 00010000 0001 01 42 /a", 0, NULL},
    {"0: -0000002 00000000 00010000 0001 01 42 /a", 0, NULL},
    {"0: " LISTENS " -42 /a", 0, NULL},
    {"0: " LISTENS " 42x /a", 0, NULL},
    {"0: " LISTENS " 42\t/a", 0, NULL},
    {"0: " LISTENS " 18446744073709551616 /a", 0, NULL},
    {"0: 0000000000000000000000002 00000000 00010000 0001 01 42 /a", 0, NULL},
};

static void each_line_is_told_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++) {
        UnixListener listener = {.inode = 77};
        if (unix_table_listener(lines[i].line, &listener) != (lines[i].path != NULL))
            fail_msg("%s", lines[i].line);
        assert_int_equal(listener.inode, lines[i].path ? lines[i].inode : 77);
        if (lines[i].path)
            assert_string_equal(listener.path, lines[i].path);
    }
}

// A line that ends early has no listener, or the right one with as much of its path as there is.
static void each_line_may_end_anywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++) {
        size_t whole = strlen(lines[i].line);
        size_t path = lines[i].path ? whole - strlen(lines[i].path) : whole;
        for (size_t size = 0; size < whole; size++) {
            _cleanup_free_ char *line = exact_text(lines[i].line, size);
            UnixListener listener;
            bool found = unix_table_listener(line, &listener);
            assert_int_equal(found, size > path);
            if (!found)
                continue;
            assert_int_equal(listener.inode, lines[i].inode);
            assert_memory_equal(listener.path, lines[i].path, size - path);
        }
    }
}

static const struct {
    const char *path;
    bool diagnostic;
} paths[] = {
    {"/tmp/dotnet-diagnostic-16858-127493-socket", true},
    {"/tmp/dotnet-diagnostic-1-18446744073709551615-socket", true},
    {"dotnet-diagnostic-1-2-socket", true},
    {"./dotnet-diagnostic-1-2-socket", true},
    {"/tmp/dotnet-diagnostic-1-2-socket/dotnet-diagnostic-3-4-socket", true},
    // Cut at 107 bytes, in each of its parts.
    {"/d/dotnet-diagnostic-16858-127493-socke", true},
    {"/d/dotnet-diagnostic-16858-127493-", true},
    {"/d/dotnet-diagnostic-16858-127493", true},
    {"/d/dotnet-diagnostic-16858-", true},
    {"/d/dotnet-diagnostic-16858", true},
    {"/d/dotnet-diagnostic-8658", true},
    {"/d/dotnet-diagnostic-", true},
    {"/d/dotnet-diagnostic", true},
    {"/d/dotnet-diagno", true},
    {"/d/dotnet-diagn", false},
    {"/d/dotnet-", false},

    {"", false},
    {"/", false},
    {"/tmp/dotnet-diagnostic-dsrouter-16858-127493-socket", false},
    {"/tmp/dotnet-diagnostic-dsrouter-16858", false},
    {"/tmp/dotnet-diagnostic-d", false},
    {"/tmp/dotnet-diagnostic-16858-127493-socket.old", false},
    {"/tmp/dotnet-diagnostic-16858-127493-socket/", false},
    {"/tmp/dotnet-diagnostic-16858-127493-socket/x", false},
    {"/tmp/dotnet-diagnostic-16858-127493-sockets", false},
    {"/tmp/dotnet-diagnostic-16858-127493-stop", false},
    {"/tmp/dotnet-diagnostic-16858-x-socket", false},
    {"/tmp/dotnet-diagnostic-16858--socket", false},
    {"/tmp/dotnet-diagnostic--127493-socket", false},
    {"/tmp/dotnet-diagnostic--1-127493-socket", false},
    {"/tmp/dotnet-diagnosticx", false},
    {"/tmp/dotnet-diagnosis", false},
    {"/tmp/dotnet-diagnoses-1-2-socket", false},
    {"/tmp/my-dotnet-diagnostic-1-2-socket", false},
    {"/tmp/Dotnet-diagnostic-1-2-socket", false},
    {"/tmp/clr-debug-pipe-1-2-in", false},
    {"/tmp/dotnet-monitor.sock", false},
};

static void each_path_is_told_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(paths); i++)
        if (unix_table_is_diagnostic(paths[i].path) != paths[i].diagnostic)
            fail_msg("%s", paths[i].path);
}

static void a_whole_name_may_be_cut_anywhere_behind_its_shortest_form(void **state) {
    (void)state;
    static const char name[] = "dotnet-diagnostic-16858-127493-socket";
    for (size_t size = 0; size <= strlen(name); size++) {
        _cleanup_free_ char *cut = exact_text(name, size);
        assert_int_equal(unix_table_is_diagnostic(cut), size >= strlen("dotnet-diagno"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_told_apart),
        cmocka_unit_test(each_line_may_end_anywhere),
        cmocka_unit_test(each_path_is_told_apart),
        cmocka_unit_test(a_whole_name_may_be_cut_anywhere_behind_its_shortest_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
