// A process as fields: every one of them, absent ones left out, bytes of the process escaped.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "macro.h"
#include "varlink.h"
#include "view.h"

static const sd_id128_t boot_id =
    SD_ID128_MAKE(00, 11, 22, 33, 44, 55, 66, 77, 88, 99, aa, bb, cc, dd, ee, ff);

static char detail[] = "connect: \\x41";
static char arguments[] = "dotnet\0a\nb\0\0\xff\\"; // the last one lacks its NUL

static const Facts full_facts = {
    .executable = (char[]){"/usr/bin/dot\x1bnet"},
    .cgroup = (char[]){"/system.slice/app.service"},
    .unit = (char[]){"app.service"},
    .user_unit = (char[]){"mine.service"},
    .container_id = (char[]){"abc"},
    .arguments = arguments,
    .arguments_size = sizeof arguments - 1,
    .arguments_truncated = true,
    .socket_path = (char[]){"/tmp/dotnet\tx"},
    .has_cookie = true,
    .cookie = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
               0xee, 0xff},
    .runtime_version = (char[]){"10.0.5"},
    .entry_assembly = (char[]){"App\\x"},
    .operating_system = (char[]){"Linux"},
    .architecture = (char[]){"x64"},
    .portable_rid = (char[]){"linux-x64"},
};

static Process full_process(void) {
    return (Process){
        .key = {.pid = 4242, .start_ticks = UINT64_C(1) << 40, .exec_count = 9},
        .id_exec_count = 3,
        .traits = {.pid = 4242,
                   .uid = 1000,
                   .state = STATE_UNREACHABLE,
                   .command = "na\x7fme",
                   .facts = &full_facts},
        .gid = 1001,
        .namespace_pid = 1,
        .reason = REASON_REFUSED,
        .detail = detail,
        .signal = SIGNAL_MAPPING,
        .protection = PROT_READ | PROT_EXEC,
        .detected = {.boottime_us = 10, .realtime_us = 20},
        .ready = {.boottime_us = 30, .realtime_us = 40},
        .sequence = 77,
    };
}

static void assert_json(const Process *process, const char *expected) {
    _cleanup_json_ json_t *object = NULL;
    assert_int_equal(view_process_json(process, boot_id, &object), 0);
    _cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
    assert_string_equal(text, expected);
}

static void test_every_field(void **state) {
    (void)state;
    Process process = full_process();
    assert_json(&process,
                "{\"id\":\"00112233445566778899aabbccddeeff-4242-1099511627776-3\","
                "\"pid\":4242,\"namespacePid\":1,\"startTime\":1099511627776,"
                "\"state\":\"unreachable\",\"reason\":\"refused\","
                "\"detail\":\"connect: \\\\x41\",\"uid\":1000,\"gid\":1001,"
                "\"command\":\"na\\\\x7fme\",\"executable\":\"/usr/bin/dot\\\\x1bnet\","
                "\"arguments\":[\"dotnet\",\"a\\\\x0ab\",\"\",\"\\\\xff\\\\\\\\\"],"
                "\"argumentsTruncated\":true,\"cgroup\":\"/system.slice/app.service\","
                "\"unit\":\"app.service\",\"userUnit\":\"mine.service\",\"containerId\":\"abc\","
                "\"runtimeCookie\":\"00112233-4455-6677-8899-aabbccddeeff\","
                "\"runtimeVersion\":\"10.0.5\",\"entryAssembly\":\"App\\\\\\\\x\","
                "\"operatingSystem\":\"Linux\",\"architecture\":\"x64\","
                "\"portableRid\":\"linux-x64\",\"socketPath\":\"/tmp/dotnet\\\\x09x\","
                "\"hostSocketPath\":\"/proc/4242/root/tmp/dotnet\\\\x09x\","
                "\"signal\":\"mapping\",\"mappingProtection\":\"r-xp\","
                "\"detectedRealtimeUSec\":20,\"detectedBoottimeUSec\":10,"
                "\"readyRealtimeUSec\":40,\"readyBoottimeUSec\":30,\"sequence\":77}");
}

static Process bare_process(void) {
    return (Process){
        .key = {.pid = 5, .start_ticks = 6, .exec_count = EXEC_COUNT_UNKNOWN},
        .id_exec_count = EXEC_COUNT_UNKNOWN,
        .traits = {.pid = 5, .uid = UID_UNKNOWN, .state = STATE_DETECTED},
        .gid = GID_UNKNOWN,
        .signal = SIGNAL_SCAN,
        .protection = PROTECTION_UNKNOWN,
        .detected = {.boottime_us = 1, .realtime_us = 2},
        .sequence = 3,
    };
}

#define BARE_START                                                                  \
    "{\"id\":\"00112233445566778899aabbccddeeff-5-6-x\",\"pid\":5,\"startTime\":6," \
    "\"state\":\"detected\","
#define BARE_END \
    "\"signal\":\"scan\",\"detectedRealtimeUSec\":2,\"detectedBoottimeUSec\":1,\"sequence\":3}"

static void test_absent_fields(void **state) {
    (void)state;
    Process process = bare_process();
    assert_json(&process, BARE_START BARE_END);
    Facts facts = {.uid = UID_UNKNOWN, .gid = GID_UNKNOWN};
    process.traits.facts = &facts;
    assert_json(&process, BARE_START BARE_END);
}

// What it was relative to is not known, so there is no way to it from outside.
static void test_relative_socket_path(void **state) {
    (void)state;
    Process process = bare_process();
    Facts facts = {.socket_path = (char[]){"dotnet-diagnostic-5"}};
    process.traits.facts = &facts;
    assert_json(&process, BARE_START "\"socketPath\":\"dotnet-diagnostic-5\"," BARE_END);
}

static void test_command_of_full_length(void **state) {
    (void)state;
    Process process = bare_process();
    memcpy(process.traits.command, "123456789012345", COMMAND_SIZE);
    assert_json(&process, BARE_START "\"command\":\"123456789012345\"," BARE_END);
}

static void test_id_fits(void **state) {
    (void)state;
    Process process = bare_process();
    process.key.pid = INT32_MAX;
    process.key.start_ticks = UINT64_MAX;
    process.id_exec_count = UINT64_MAX - 1;
    char id[VIEW_ID_SIZE];
    view_id(&process, boot_id, id);
    assert_string_equal(id, "00112233445566778899aabbccddeeff-2147483647-18446744073709551615-"
                            "18446744073709551614");
    process.id_exec_count = EXEC_COUNT_UNKNOWN;
    process.id_again = UINT64_MAX;
    view_id(&process, boot_id, id);
    assert_string_equal(id, "00112233445566778899aabbccddeeff-2147483647-18446744073709551615-"
                            "x18446744073709551615");
}

typedef struct Visits {
    size_t count;
    size_t fail_at;
    size_t wide;
    const char *last;
} Visits;

static int visit(void *userdata, const char *name) {
    Visits *visits = userdata;
    visits->last = name;
    return visits->count++ == visits->fail_at ? -EIO : 0;
}
static int visit_text(void *userdata, const char *name, const char *value) {
    assert_non_null(value);
    return visit(userdata, name);
}
static int visit_texts(void *userdata, const char *name, char *const *values, size_t count) {
    assert_int_equal(count, 4);
    assert_string_equal(values[0], "dotnet");
    return visit(userdata, name);
}
static int visit_number(void *userdata, const char *name, uint64_t value, ViewWidth width) {
    Visits *visits = userdata;
    visits->wide += width == VIEW_U64;
    if (width == VIEW_U32)
        assert_true(value <= UINT32_MAX);
    return visit(userdata, name);
}
static int visit_boolean(void *userdata, const char *name, bool value) {
    assert_true(value);
    return visit(userdata, name);
}

static const ViewSink visits_sink = {visit_text, visit_texts, visit_number, visit_boolean};

static void test_first_failure_ends_the_visit(void **state) {
    (void)state;
    Process process = full_process();
    Visits all = {.fail_at = SIZE_MAX};
    assert_int_equal(view_process(&process, boot_id, &visits_sink, &all), 0);
    assert_int_equal(all.count, 32);
    assert_int_equal(all.wide, 6); // startTime, sequence and four times
    assert_string_equal(all.last, "sequence");

    for (size_t i = 0; i < all.count; i++) {
        Visits some = {.fail_at = i};
        assert_int_equal(view_process(&process, boot_id, &visits_sink, &some), -EIO);
        assert_int_equal(some.count, i + 1);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_absent_fields),
        cmocka_unit_test(test_relative_socket_path),
        cmocka_unit_test(test_command_of_full_length),
        cmocka_unit_test(test_id_fits),
        cmocka_unit_test(test_first_failure_ends_the_visit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
