// Which texts can be sent: what sd-bus itself takes, and no more.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <sys/socket.h>
#include <systemd/sd-bus.h>

#include "bus_view.h"
#include "cleanup.h"
#include "macro.h"

static const char *const good[] = {
    "",
    "dotnet",
    "\x01\x7f",
    "\xc2\x80",
    "\xdf\xbf",
    "\xe0\xa0\x80",
    "\xed\x9f\xbf",
    "\xee\x80\x80",
    "\xef\xb7\x8f\xef\xb7\xb0\xef\xbf\xbd", // around the noncharacters
    "\xf0\x90\x80\x80",
    "\xf4\x8f\xbf\xbd",
};

static const char *const bad[] = {
    "\x80",
    "a\xc1\xbf",
    "\xc2",
    "\xc2g",
    "\xe0\x9f\xbf",
    "\xe2\x82",
    "\xed\xa0\x80", // a surrogate
    "\xed\xbf\xbf",
    "\xef\xb7\x90", // noncharacters
    "\xef\xb7\xaf",
    "\xef\xbf\xbe",
    "\xef\xbf\xbf",
    "\xf0\x8f\xbf\xbf",
    "\xf0\x9f\xbf\xbe",
    "\xf4\x8f\xbf\xbf",
    "\xf4\x90\x80\x80",
    "\xf5\x80\x80\x80",
    "\xff",
};

static void test_texts(void **state __attribute__((unused))) {
    for (size_t i = 0; i < ELEMENTS_OF(good); i++)
        assert_true(bus_view_is_sendable(good[i]));
    for (size_t i = 0; i < ELEMENTS_OF(bad); i++)
        assert_false(bus_view_is_sendable(bad[i]));
}

static void test_what_is_sendable_can_be_appended(void **state __attribute__((unused))) {
    _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    assert_true(sd_bus_new(&bus) >= 0);
    assert_true(sd_bus_set_fd(bus, pair[0], pair[0]) >= 0);
    assert_true(sd_bus_start(bus) >= 0);
    assert_true(sd_bus_message_new_signal(bus, &message, "/", "a.b", "C") >= 0);
    for (size_t i = 0; i < ELEMENTS_OF(good); i++)
        assert_true(sd_bus_message_append(message, "s", good[i]) >= 0);
    // A code point of each row, and around every noncharacter.
    for (uint32_t c = 1; c <= 0x10ffff; c += c % 0x100 >= 0xef || c % 0x100 <= 0x10 ? 1 : 0x11) {
        char text[5] = {0};
        if (c < 0x80) {
            text[0] = (char)c;
        } else if (c < 0x800) {
            text[0] = (char)(0xc0 | c >> 6);
            text[1] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            text[0] = (char)(0xe0 | c >> 12);
            text[1] = (char)(0x80 | (c >> 6 & 0x3f));
            text[2] = (char)(0x80 | (c & 0x3f));
        } else {
            text[0] = (char)(0xf0 | c >> 18);
            text[1] = (char)(0x80 | (c >> 12 & 0x3f));
            text[2] = (char)(0x80 | (c >> 6 & 0x3f));
            text[3] = (char)(0x80 | (c & 0x3f));
        }
        if (bus_view_is_sendable(text) && sd_bus_message_append(message, "s", text) < 0)
            fail_msg("U+%04x", c);
    }
    close(pair[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_what_is_sendable_can_be_appended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
