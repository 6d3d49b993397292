// The fixture's loop and registry, and what is expected of the daemon.
// SPDX-License-Identifier: MIT
#include "bus_fixture.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"

static const uint32_t groups_of_member[] = {7, 1000, MEMBER_GROUP};
static const uint32_t groups_of_others[] = {7, MEMBER_GROUP - 1, MEMBER_GROUP + 1};

static const FakeCaller callers[] = {
    {.name = ":1.10", .uid = 0, .groups = groups_of_others, .group_count = 3},
    {.name = ":1.11", .uid = 1000, .groups = groups_of_member, .group_count = 3},
    {.name = ":1.12", .uid = 1000, .groups = groups_of_others, .group_count = 3},
    {.name = ":1.13", .uid = 1001, .groups = groups_of_others, .group_count = 3},
    {.name = ":1.14", .uid = 1001},
    {.name = ":1.15", .uid = UINT32_MAX, .groups = groups_of_member, .group_count = 3},
    {.name = ":1.16", .uid = 0, .error = "org.freedesktop.DBus.Error.NameHasNoOwner"},
    {.name = ":1.17", .uid = 0, .forged = true},
};

static size_t count_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    size_t count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void collect(void *userdata, Status *ret) {
    const BusFixture *fixture = userdata;
    *ret = fixture->status;
}

int bus_fixture_set_up_alone(void **state) {
    BusFixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->descriptors = count_descriptors();
    fixture->status = (Status){
        .mechanisms = {{"probe", false, "less", "refused"}, {"tracepoint", true, "more", NULL}},
        .mechanism_count = 2,
        .scan_interval_us = 1000000,
        .programs = {{"mapping", "tracepoint", true, NULL}, {"scan", "iterator", false, "why"}},
        .program_count = 2,
        .counters = {{"records", 5, false}, {"rescans", 6, true}},
        .counter_count = 2,
        .degraded = {"no scan"},
        .degraded_count = 1,
    };
    assert_int_equal(sd_event_new(&fixture->event), 0);
    const RegistryLimits limits = {.processes = 10000, .processes_per_uid = 10000};
    assert_int_equal(registry_new(&limits, &fixture->registry), 0);
    fake_bus_init(&fixture->fake, fixture->event);
    fixture->fake.callers = callers;
    fixture->fake.caller_count = ELEMENTS_OF(callers);
    *state = fixture;
    return 0;
}

int bus_fixture_set_up(void **state) {
    int r = bus_fixture_set_up_alone(state);
    BusFixture *fixture = *state;
    fake_bus_listen(&fixture->fake);
    bus_fixture_start(fixture);
    bus_fixture_run(fixture);
    assert_int_equal(fixture->fake.connections, 1);
    return r;
}

int bus_fixture_tear_down(void **state) {
    BusFixture *fixture = *state;
    bus_free(fixture->bus);
    fake_bus_done(&fixture->fake);
    actions_done(&fixture->actions);
    registry_free(fixture->registry);
    sd_event_unref(fixture->event);
    assert_int_equal(count_descriptors(), fixture->descriptors);
    free(fixture);
    return 0;
}

void bus_fixture_start(BusFixture *fixture) {
    const Context context = {
        .registry = fixture->registry,
        .group = MEMBER_GROUP,
        .boot_id = SD_ID128_MAKE(00, 11, 22, 33, 44, 55, 66, 77, 88, 99, aa, bb, cc, dd, ee, ff),
        .run_id = SD_ID128_MAKE(0f, 11, 22, 33, 44, 55, 66, 77, 88, 99, aa, bb, cc, dd, ee, ff),
        .started_realtime_us = 123,
        .userdata = fixture,
        .collect = collect,
    };
    assert_int_equal(bus_new(fixture->event, &context, fixture->fake.address, &fixture->bus), 0);
}

void bus_fixture_run(BusFixture *fixture) {
    for (int turns = 0; turns < 1000000; turns++) {
        int r = sd_event_run(fixture->event, 0);
        assert_true(r >= 0);
        if (r == 0)
            return;
    }
    fail_msg("the loop never rests");
}

void bus_fixture_wait_connection(BusFixture *fixture, unsigned count) {
    while (fixture->fake.connections < count)
        if (sd_event_run(fixture->event, 60 * USEC_PER_SEC) <= 0)
            fail_msg("no connection comes");
    bus_fixture_run(fixture);
}

static void feed(BusFixture *fixture, Input *input) {
    static const Instant now = {.boottime_us = 1000000, .realtime_us = 2000000};
    assert_int_equal(registry_feed(fixture->registry, input, now, &fixture->actions), 0);
    for (size_t i = 0; i < fixture->actions.count; i++)
        if (fixture->actions.items[i].kind == ACTION_PUBLISH)
            bus_publish(fixture->bus, &fixture->actions.items[i]);
    actions_clear(&fixture->actions);
}

uint64_t bus_fixture_begin(BusFixture *fixture, pid_t pid, uid_t uid) {
    Input input = {
        .kind = INPUT_SIGNAL,
        .signal = {.kind = SIGNAL_MAPPING,
                   .key = {.pid = pid, .start_ticks = 100 + fixture->begun++, .exec_count = 1},
                   .uid = uid,
                   .gid = uid,
                   .command = "dotnet",
                   .protection = 0,
                   .seen = {.boottime_us = 1000000, .realtime_us = 2000000}},
    };
    feed(fixture, &input);
    return registry_last_serial(fixture->registry);
}

void bus_fixture_ready(BusFixture *fixture, uint64_t serial, size_t arguments) {
    Facts *facts = facts_new();
    assert_non_null(facts);
    facts->uid = registry_find(fixture->registry, serial)->traits.uid;
    facts->gid = facts->uid;
    memcpy(facts->command, "dotnet", sizeof "dotnet");
    facts->runtime_version = strdup("10.0.5");
    facts->arguments = malloc(arguments + 1);
    assert_non_null(facts->arguments);
    memset(facts->arguments, 'a', arguments);
    facts->arguments[arguments] = '\0';
    facts->arguments_size = arguments + 1;
    Input input = {.kind = INPUT_PROBED,
                   .probed = {.serial = serial, .outcome = OUTCOME_ANSWERED, .facts = facts}};
    feed(fixture, &input);
}

void bus_fixture_failed(BusFixture *fixture, uint64_t serial, Outcome outcome) {
    Input input = {.kind = INPUT_PROBED, .probed = {.serial = serial, .outcome = outcome}};
    feed(fixture, &input);
}

void bus_fixture_gone(BusFixture *fixture, uint64_t serial) {
    Input input = {.kind = INPUT_EXIT, .exit = {.serial = serial}};
    feed(fixture, &input);
}

static sd_bus_message *next(BusFixture *fixture) {
    bus_fixture_run(fixture);
    sd_bus_message *message = fake_bus_next(&fixture->fake);
    if (!message)
        fail_msg("no message");
    return message;
}

static void expect_text(sd_bus_message *message, const char *expected) {
    _cleanup_free_ char *text = fake_bus_text(message);
    assert_string_equal(text, expected);
}

void bus_expect_reply(BusFixture *fixture, const char *destination, const char *text) {
    sd_bus_message *message = next(fixture);
    const sd_bus_error *error = sd_bus_message_get_error(message);
    if (error)
        fail_msg("%s: %s", error->name, error->message);
    uint8_t type;
    assert_true(sd_bus_message_get_type(message, &type) >= 0);
    assert_int_equal(type, SD_BUS_MESSAGE_METHOD_RETURN);
    assert_string_equal(sd_bus_message_get_destination(message), destination);
    if (text)
        expect_text(message, text);
}

void bus_expect_error(BusFixture *fixture, const char *destination, const char *name) {
    sd_bus_message *message = next(fixture);
    const sd_bus_error *error = sd_bus_message_get_error(message);
    assert_non_null(error);
    assert_string_equal(error->name, name);
    assert_string_equal(sd_bus_message_get_destination(message), destination);
}

void bus_expect_signal(BusFixture *fixture, const char *interface, const char *member,
                       const char *text) {
    sd_bus_message *message = next(fixture);
    assert_true(sd_bus_message_is_signal(message, interface, member) > 0);
    assert_string_equal(sd_bus_message_get_path(message), DISCOVERY_BUS_PATH);
    assert_null(sd_bus_message_get_destination(message));
    expect_text(message, text);
}

void bus_expect_nothing(BusFixture *fixture) {
    bus_fixture_run(fixture);
    sd_bus_message *message = fake_bus_next(&fixture->fake);
    if (message)
        fail_msg("%s", sd_bus_message_get_member(message));
}

// ---- calls

void bus_forget_signals(BusFixture *fixture) {
    bus_fixture_run(fixture);
    while (fake_bus_next(&fixture->fake)) {
    }
}

uint64_t bus_two_processes(BusFixture *fixture) {
    uint64_t serial = bus_fixture_begin(fixture, 10, 1000);
    bus_fixture_ready(fixture, serial, 2);
    bus_fixture_begin(fixture, 20, 0);
    bus_forget_signals(fixture);
    return serial;
}

void bus_call(BusFixture *fixture, const char *sender, const char *member) {
    fake_bus_send(&fixture->fake,
                  fake_bus_call(&fixture->fake, sender, DISCOVERY_BUS_INTERFACE, member));
}

void bus_call_get(BusFixture *fixture, const char *sender, uint32_t pid) {
    sd_bus_message *message =
        fake_bus_call(&fixture->fake, sender, DISCOVERY_BUS_INTERFACE, "GetProcess");
    assert_true(sd_bus_message_append(message, "u", pid) >= 0);
    fake_bus_send(&fixture->fake, message);
}

void bus_call_list(BusFixture *fixture, const char *sender) {
    sd_bus_message *message =
        fake_bus_call(&fixture->fake, sender, DISCOVERY_BUS_INTERFACE, "ListProcesses");
    assert_true(sd_bus_message_append(message, "a{sv}", 0) >= 0);
    fake_bus_send(&fixture->fake, message);
}

void bus_call_list_where(BusFixture *fixture, const char *key, const char *type, const char *text,
                         uint32_t number) {
    sd_bus_message *message =
        fake_bus_call(&fixture->fake, ROOT, DISCOVERY_BUS_INTERFACE, "ListProcesses");
    int r = strcmp(type, "s") == 0 ? sd_bus_message_append(message, "a{sv}", 1, key, type, text)
            : strcmp(type, "as") == 0
                ? sd_bus_message_append(message, "a{sv}", 1, key, type, 1, text)
            : strcmp(type, "t") == 0
                ? sd_bus_message_append(message, "a{sv}", 1, key, type, (uint64_t)number)
                : sd_bus_message_append(message, "a{sv}", 1, key, type, number);
    assert_true(r >= 0);
    fake_bus_send(&fixture->fake, message);
}

void bus_call_property(BusFixture *fixture, const char *sender, const char *property) {
    sd_bus_message *message = fake_bus_call(&fixture->fake, sender, PROPERTIES, "Get");
    assert_true(sd_bus_message_append(message, "ss", DISCOVERY_BUS_INTERFACE, property) >= 0);
    fake_bus_send(&fixture->fake, message);
}

void bus_call_properties(BusFixture *fixture, const char *sender, const char *interface) {
    sd_bus_message *message = fake_bus_call(&fixture->fake, sender, PROPERTIES, "GetAll");
    assert_true(sd_bus_message_append(message, "s", interface) >= 0);
    fake_bus_send(&fixture->fake, message);
}
