// Calls over the bus: who sees what, what each reply is made of, what is refused.
// SPDX-License-Identifier: MIT
#include "bus_fixture.h"

#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "cleanup.h"
#include "macro.h"

#define MANAGER DISCOVERY_BUS_INTERFACE
#define BOOT "00112233445566778899aabbccddeeff"

// What bus_two_processes() are told as.
#define READY_10                                                                            \
    "[\"Id\": s \"" BOOT "-10-100-1\", \"Pid\": u 10, \"StartTime\": t 100, "               \
    "\"State\": s \"ready\", \"Uid\": u 1000, \"Gid\": u 1000, \"Command\": s \"dotnet\", " \
    "\"Arguments\": as [\"aa\"], \"RuntimeVersion\": s \"10.0.5\", "                        \
    "\"Signal\": s \"mapping\", \"MappingProtection\": s \"---p\", "                        \
    "\"DetectedRealtimeUSec\": t 2000000, \"DetectedBoottimeUSec\": t 1000000, "            \
    "\"ReadyRealtimeUSec\": t 2000000, \"ReadyBoottimeUSec\": t 1000000, \"Sequence\": t 2]"
#define DETECTED_20                                                                      \
    "[\"Id\": s \"" BOOT "-20-101-1\", \"Pid\": u 20, \"StartTime\": t 101, "            \
    "\"State\": s \"detected\", \"Uid\": u 0, \"Gid\": u 0, \"Command\": s \"dotnet\", " \
    "\"Signal\": s \"mapping\", \"MappingProtection\": s \"---p\", "                     \
    "\"DetectedRealtimeUSec\": t 2000000, \"DetectedBoottimeUSec\": t 1000000, "         \
    "\"Sequence\": t 3]"

static void test_lists_have_what_the_caller_may_see(void **state) {
    BusFixture *fixture = *state;
    bus_call_list(fixture, ROOT);
    bus_expect_reply(fixture, ROOT, "0, []");
    bus_two_processes(fixture);
    static const char *const all[] = {ROOT, MEMBER};
    for (size_t i = 0; i < 2; i++) {
        bus_call_list(fixture, all[i]);
        bus_expect_reply(fixture, all[i], "3, [" READY_10 ", " DETECTED_20 "]");
    }
    bus_call_list(fixture, OWNER);
    bus_expect_reply(fixture, OWNER, "3, [" READY_10 "]");
    static const char *const none[] = {STRANGER, WITHOUT_GROUPS};
    for (size_t i = 0; i < 2; i++) {
        bus_call_list(fixture, none[i]);
        bus_expect_reply(fixture, none[i], "3, []");
    }
    bus_expect_nothing(fixture);
    assert_int_equal(bus_counters(fixture->bus)->calls, 0);
}

static void test_get(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    bus_call_get(fixture, OWNER, 10);
    bus_expect_reply(fixture, OWNER, READY_10);
    bus_call_get(fixture, MEMBER, 20);
    bus_expect_reply(fixture, MEMBER, DETECTED_20);
    // What it may not see, what is not there.
    bus_call_get(fixture, OWNER, 20);
    bus_expect_error(fixture, OWNER, NO_SUCH_PROCESS);
    bus_call_get(fixture, WITHOUT_GROUPS, 10);
    bus_expect_error(fixture, WITHOUT_GROUPS, NO_SUCH_PROCESS);
    bus_call_get(fixture, ROOT, 30);
    bus_expect_error(fixture, ROOT, NO_SUCH_PROCESS);
    static const uint32_t senseless[] = {0, UINT32_C(1) << 31, UINT32_MAX};
    for (size_t i = 0; i < ELEMENTS_OF(senseless); i++) {
        bus_call_get(fixture, ROOT, senseless[i]);
        bus_expect_error(fixture, ROOT, SD_BUS_ERROR_INVALID_ARGS);
    }
}

static void test_status(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    static const struct {
        const char *caller, *counters, *processes;
    } expected[] = {
        {ROOT, "[\"records\": 5, \"rescans\": 6]", "[\"detected\": 1, \"ready\": 1, "},
        {OWNER, "[\"rescans\": 6]", "[\"detected\": 0, \"ready\": 1, "},
        {STRANGER, "[\"rescans\": 6]", "[\"detected\": 0, \"ready\": 0, "},
    };
    for (size_t i = 0; i < ELEMENTS_OF(expected); i++) {
        bus_call(fixture, expected[i].caller, "GetStatus");
        bus_fixture_run(fixture);
        sd_bus_message *reply = fake_bus_next(&fixture->fake);
        assert_non_null(reply);
        _cleanup_free_ char *text = fake_bus_text(reply);
        _cleanup_free_ char *front = NULL;
        assert_true(asprintf(&front,
                             "[\"Version\": s \"" DISCOVERY_VERSION "\", "
                             "\"RunId\": s \"0f112233445566778899aabbccddeeff\", "
                             "\"Mechanism\": s \"tracepoint\", "
                             "\"Mechanisms\": aa{sv} [[\"Name\": s \"probe\", "
                             "\"Used\": b false, \"Cost\": s \"less\", "
                             "\"Detail\": s \"refused\"], [\"Name\": s \"tracepoint\", "
                             "\"Used\": b true, \"Cost\": s \"more\"]], "
                             "\"ScanIntervalUSec\": t 1000000, "
                             "\"Degraded\": as [\"no scan\"], "
                             "\"Programs\": aa{sv} [[\"Name\": s \"mapping\", "
                             "\"Kind\": s \"tracepoint\", \"Attached\": b true], "
                             "[\"Name\": s \"scan\", \"Kind\": s \"iterator\", "
                             "\"Attached\": b false, \"Detail\": s \"why\"]], "
                             "\"Counters\": a{st} %s, \"Processes\": a{st} %s"
                             "\"unreachable\": 0], \"StartedRealtimeUSec\": t 123, "
                             "\"KernelRelease\": s \"",
                             expected[i].counters, expected[i].processes) > 0);
        assert_memory_equal(text, front, strlen(front));
        static const char end[] = "\", \"Sequence\": t 3]";
        assert_string_equal(text + strlen(text) - strlen(end), end);
    }
    fixture->status.degraded_count = 0;
    fixture->status.scan_interval_us = 0;
    bus_call(fixture, ROOT, "GetStatus");
    bus_fixture_run(fixture);
    _cleanup_free_ char *text = fake_bus_text(fake_bus_next(&fixture->fake));
    assert_null(strstr(text, "Degraded"));
    assert_null(strstr(text, "ScanInterval"));
}

static void test_properties(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    static const struct {
        const char *caller, *property, *text;
    } expected[] = {
        {ROOT, "ReadyCount", "u 1"},
        {OWNER, "ReadyCount", "u 1"},
        {STRANGER, "ReadyCount", "u 0"},
        {STRANGER, "Version", "s \"" DISCOVERY_VERSION "\""},
        {STRANGER, "RunId", "s \"0f112233445566778899aabbccddeeff\""},
        {STRANGER, "Mechanism", "s \"tracepoint\""},
        {STRANGER, "Degraded", "as [\"no scan\"]"},
    };
    for (size_t i = 0; i < ELEMENTS_OF(expected); i++) {
        bus_call_property(fixture, expected[i].caller, expected[i].property);
        bus_expect_reply(fixture, expected[i].caller, expected[i].text);
    }
    static const char *const interfaces[] = {MANAGER, ""};
    for (size_t i = 0; i < ELEMENTS_OF(interfaces); i++) {
        bus_call_properties(fixture, STRANGER, interfaces[i]);
        bus_expect_reply(fixture, STRANGER,
                         "[\"Version\": s \"" DISCOVERY_VERSION "\", "
                         "\"RunId\": s \"0f112233445566778899aabbccddeeff\", "
                         "\"Mechanism\": s \"tracepoint\", \"ReadyCount\": u 0, "
                         "\"Degraded\": as [\"no scan\"]]");
    }
    sd_bus_message *message = fake_bus_call(&fixture->fake, ROOT, PROPERTIES, "Get");
    assert_true(sd_bus_message_append(message, "ss", "", "ReadyCount") >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_expect_reply(fixture, ROOT, "u 1");
    message = fake_bus_call(&fixture->fake, ROOT, PROPERTIES, "Get");
    assert_true(sd_bus_message_append(message, "ss", PROPERTIES, "ReadyCount") >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_UNKNOWN_PROPERTY);
    bus_call_property(fixture, ROOT, "readyCount");
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_UNKNOWN_PROPERTY);
    bus_call_properties(fixture, ROOT, "org.example.Other");
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_UNKNOWN_INTERFACE);
    message = fake_bus_call(&fixture->fake, ROOT, PROPERTIES, "Set");
    assert_true(sd_bus_message_append(message, "ssv", MANAGER, "ReadyCount", "u", 1) >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_PROPERTY_READ_ONLY);
}

static void test_filters(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    static const struct {
        const char *key, *type, *text;
        uint32_t number;
        const char *expected; // NULL: refused
    } filters[] = {
        {"Pid", "u", NULL, 10, READY_10},
        {"Pid", "u", NULL, 11, ""},
        {"Uid", "u", NULL, 0, DETECTED_20},
        {"State", "s", "ready", 0, READY_10},
        {"RuntimeVersion", "s", "10.*", 0, READY_10},
        {"Command", "s", "dot?et", 0, READY_10 ", " DETECTED_20},
        {"Unit", "s", "*", 0, ""},
        {"EntryAssembly", "s", "*", 0, ""},
        {"ContainerId", "s", "*", 0, ""},
        {"Pid", "s", "10", 0, NULL},
        {"Pid", "i", NULL, 10, NULL},
        {"Pid", "t", NULL, 10, NULL},
        {"Pid", "u", NULL, 0, NULL},
        {"Pid", "u", NULL, UINT32_MAX, NULL},
        {"Uid", "u", NULL, UINT32_MAX, NULL},
        {"Uid", "s", "root", 0, NULL},
        {"State", "s", "Ready", 0, NULL},
        {"State", "u", NULL, 1, NULL},
        {"Command", "s", "", 0, NULL},
        {"Command", "as", "dotnet", 0, NULL},
        {"pid", "u", NULL, 10, NULL},
        {"command", "s", "*", 0, NULL},
        {"", "s", "*", 0, NULL},
        {"Sequence", "u", NULL, 1, NULL},
        {"\303\204", "s", "*", 0, NULL},
        {"ContainerIdContainerIdContainerIdContainerIdContainerIdContainerIdContainerId", "s", "*",
         0, NULL},
    };
    for (size_t i = 0; i < ELEMENTS_OF(filters); i++) {
        bus_call_list_where(fixture, filters[i].key, filters[i].type, filters[i].text,
                            filters[i].number);
        if (filters[i].expected) {
            char text[2048];
            snprintf(text, sizeof text, "3, [%s]", filters[i].expected);
            bus_expect_reply(fixture, ROOT, text);
        } else {
            bus_expect_error(fixture, ROOT, SD_BUS_ERROR_INVALID_ARGS);
        }
    }
}

static void test_a_long_key_is_not_sent_back(void **state) {
    BusFixture *fixture = *state;
    char key[4096];
    memset(key, 'A', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    bus_call_list_where(fixture, key, "s", "x", 0);
    bus_fixture_run(fixture);
    sd_bus_message *reply = fake_bus_next(&fixture->fake);
    assert_non_null(reply);
    const sd_bus_error *error = sd_bus_message_get_error(reply);
    assert_non_null(error);
    assert_string_equal(error->name, SD_BUS_ERROR_INVALID_ARGS);
    assert_true(strlen(error->message) < 128);
}

static void test_filters_of_several_members(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    sd_bus_message *message = fake_bus_call(&fixture->fake, ROOT, MANAGER, "ListProcesses");
    assert_true(sd_bus_message_append(message, "a{sv}", 3, "Command", "s", "a", "Command", "s",
                                      "dotnet", "Uid", "u", 1000) >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_expect_reply(fixture, ROOT, "3, [" READY_10 "]");

    // More members than there are: nobody has the daemon keep them.
    message = fake_bus_call(&fixture->fake, ROOT, MANAGER, "ListProcesses");
    assert_true(sd_bus_message_open_container(message, 'a', "{sv}") >= 0);
    for (int i = 0; i < 9; i++)
        assert_true(sd_bus_message_append(message, "{sv}", "Command", "s", "dotnet") >= 0);
    assert_true(sd_bus_message_close_container(message) >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_INVALID_ARGS);

    char pattern[BOUND_PATTERN + 2];
    memset(pattern, '*', sizeof pattern);
    pattern[BOUND_PATTERN + 1] = '\0';
    bus_call_list_where(fixture, "Command", "s", pattern, 0);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_INVALID_ARGS);
    pattern[BOUND_PATTERN] = '\0';
    bus_call_list_where(fixture, "Command", "s", pattern, 0);
    bus_expect_reply(fixture, ROOT, "3, [" READY_10 ", " DETECTED_20 "]");
}

static void test_the_interface_may_be_left_out(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    sd_bus_message *message = fake_bus_call(&fixture->fake, OWNER, NULL, "GetProcess");
    assert_true(sd_bus_message_append(message, "u", 10) >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_expect_reply(fixture, OWNER, READY_10);
    fake_bus_send(&fixture->fake, fake_bus_call(&fixture->fake, OWNER, NULL, "Ping"));
    bus_expect_reply(fixture, OWNER, "");
}

static void test_calls_that_are_none(void **state) {
    BusFixture *fixture = *state;
    bus_call(fixture, ROOT, "GetProcess"); // without its argument
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_INVALID_ARGS);
    bus_call(fixture, ROOT, "Frobnicate");
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_UNKNOWN_METHOD);
    sd_bus_message *message = fake_bus_call(&fixture->fake, ROOT, PROPERTIES, "GetAll");
    assert_true(sd_bus_message_append(message, "ss", MANAGER, "more") >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_INVALID_ARGS);
    // The properties are those of one object.
    assert_true(sd_bus_message_new_method_call(fixture->fake.connection, &message,
                                               DISCOVERY_BUS_NAME, "/elsewhere", PROPERTIES,
                                               "Get") >= 0);
    assert_true(sd_bus_message_set_sender(message, ROOT) >= 0);
    assert_true(sd_bus_message_append(message, "ss", MANAGER, "ReadyCount") >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_expect_error(fixture, ROOT, SD_BUS_ERROR_UNKNOWN_OBJECT);
    // Nobody waits for these, so nobody is asked who calls.
    fixture->fake.keeps_questions = true;
    message = fake_bus_call(&fixture->fake, ROOT, MANAGER, "GetStatus");
    assert_true(sd_bus_message_set_expect_reply(message, false) >= 0);
    fake_bus_send(&fixture->fake, message);
    bus_expect_nothing(fixture);
    assert_int_equal(fixture->fake.question_count, 0);
}

static void test_who_is_not_known_gets_nothing(void **state) {
    BusFixture *fixture = *state;
    bus_two_processes(fixture);
    static const char *const unknown[] = {WITHOUT_UID, VANISHED, FORGED};
    for (size_t i = 0; i < ELEMENTS_OF(unknown); i++) {
        bus_call_list(fixture, unknown[i]);
        bus_call_get(fixture, unknown[i], 10);
        bus_call(fixture, unknown[i], "GetStatus");
        bus_call_property(fixture, unknown[i], "ReadyCount");
        bus_fixture_run(fixture);
        for (int replies = 0; replies < 4; replies++) {
            sd_bus_message *reply = fake_bus_next(&fixture->fake);
            assert_non_null(reply);
            assert_non_null(sd_bus_message_get_error(reply));
        }
    }
    assert_int_equal(bus_counters(fixture->bus)->calls, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUS_TEST(test_lists_have_what_the_caller_may_see),
        BUS_TEST(test_get),
        BUS_TEST(test_status),
        BUS_TEST(test_properties),
        BUS_TEST(test_filters),
        BUS_TEST(test_a_long_key_is_not_sent_back),
        BUS_TEST(test_filters_of_several_members),
        BUS_TEST(test_the_interface_may_be_left_out),
        BUS_TEST(test_calls_that_are_none),
        BUS_TEST(test_who_is_not_known_gets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
