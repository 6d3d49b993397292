// record.c: good records whole and torn, and each thing that makes one bad.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <string.h>

#include "cleanup.h"
#include "exact.h"
#include "macro.h"
#include "record.h"

#define HEADER(kind_, size_) \
    { .version = DISCOVERY_RECORD_VERSION, .kind = (kind_), .size = (size_) }

static const struct discovery_record mapping = {
    .header = HEADER(DISCOVERY_RECORD_MAPPING, sizeof mapping),
    .timestamp_ns = 1274930000123,
    .start_time_ns = 1274930000000,
    .exec_count = 3,
    .socket_inode = 63531,
    .pid = 16858,
    .namespace_pid = 1,
    .uid = 1000,
    .gid = 100,
    .protection = 0,
    .flags = 2,
    .socket_path_length = 42,
    .command = "dotnet",
    .socket_path = "/tmp/dotnet-diagnostic-16858-127493-socket",
};
static const struct discovery_record_header progress = HEADER(DISCOVERY_RECORD_PROGRESS, 8);

// Decodes a copy of exactly `size` bytes that lies on an odd address.
static RecordResult decode(const void *bytes, size_t size, struct discovery_record *ret,
                           size_t *ret_size) {
    _cleanup_free_ char *shifted = malloc(size + 1);
    assert_non_null(shifted);
    memcpy(shifted + 1, bytes, size);
    return record_decode(shifted + 1, size, ret, ret_size);
}

static void a_record_comes_out_as_it_went_in(void **state) {
    (void)state;
    static const unsigned short kinds[] = {DISCOVERY_RECORD_MAPPING, DISCOVERY_RECORD_SCAN,
                                           DISCOVERY_RECORD_EXEC, DISCOVERY_RECORD_LISTEN};
    for (size_t i = 0; i < ELEMENTS_OF(kinds); i++) {
        struct discovery_record in = mapping, out;
        size_t size = 0;
        in.header.kind = kinds[i];
        assert_int_equal(decode(&in, sizeof in, &out, &size), RECORD_OK);
        assert_int_equal(size, sizeof in);
        assert_memory_equal(&in, &out, sizeof in);
    }
}

static void a_progress_record_is_a_header_alone(void **state) {
    (void)state;
    struct discovery_record out, expected = {.header = progress};
    size_t size = 0;
    memset(&out, 0xff, sizeof out);
    assert_int_equal(decode(&progress, sizeof progress, &out, &size), RECORD_OK);
    assert_int_equal(size, 8);
    assert_memory_equal(&out, &expected, sizeof out);
}

static void a_stream_of_records_is_taken_one_by_one(void **state) {
    (void)state;
    char stream[sizeof progress + 2 * sizeof mapping];
    memcpy(stream, &mapping, sizeof mapping);
    memcpy(stream + sizeof mapping, &progress, sizeof progress);
    memcpy(stream + sizeof mapping + sizeof progress, &mapping, sizeof mapping);

    static const unsigned kinds[] = {DISCOVERY_RECORD_MAPPING, DISCOVERY_RECORD_PROGRESS,
                                     DISCOVERY_RECORD_MAPPING};
    size_t at = 0;
    for (size_t i = 0; i < ELEMENTS_OF(kinds); i++) {
        struct discovery_record out;
        size_t size = 0;
        assert_int_equal(decode(stream + at, sizeof stream - at, &out, &size), RECORD_OK);
        assert_int_equal(out.header.kind, kinds[i]);
        at += size;
    }
    assert_int_equal(at, sizeof stream);
}

static void a_torn_record_is_short_and_touches_nothing(void **state) {
    (void)state;
    for (size_t size = 0; size < sizeof mapping; size++) {
        struct discovery_record out, untouched;
        size_t taken = 77;
        memset(&out, 0xa5, sizeof out);
        untouched = out;
        assert_int_equal(decode(&mapping, size, &out, &taken), RECORD_SHORT);
        assert_int_equal(taken, 77);
        assert_memory_equal(&out, &untouched, sizeof out);
    }
    for (size_t size = 0; size < sizeof progress; size++) {
        struct discovery_record out;
        size_t taken;
        assert_int_equal(decode(&progress, size, &out, &taken), RECORD_SHORT);
    }
}

static void a_command_always_ends(void **state) {
    (void)state;
    struct discovery_record in = mapping, out;
    size_t size;
    memset(in.command, 'x', sizeof in.command);
    assert_int_equal(decode(&in, sizeof in, &out, &size), RECORD_OK);
    assert_string_equal(out.command, "xxxxxxxxxxxxxxx");
}

static void a_socket_path_may_be_full(void **state) {
    (void)state;
    struct discovery_record in = mapping, out;
    size_t size;
    memset(in.socket_path, 'x', sizeof in.socket_path);
    in.socket_path_length = sizeof in.socket_path;
    assert_int_equal(decode(&in, sizeof in, &out, &size), RECORD_OK);
    assert_int_equal(out.socket_path_length, 108);
    assert_memory_equal(out.socket_path, in.socket_path, sizeof in.socket_path);
}

#define AT(member) offsetof(struct discovery_record, member)

// One field of the good record changed.
static const struct {
    const char *what;
    size_t at;
    size_t width;
    uint32_t value;
    RecordResult result;
} changes[] = {
    {"version 0", AT(header.version), 2, 0, RECORD_VERSION},
    {"the next version", AT(header.version), 2, DISCOVERY_RECORD_VERSION + 1, RECORD_VERSION},
    {"the kind behind the last", AT(header.kind), 2, DISCOVERY_RECORD_LISTEN + 1, RECORD_BAD},
    {"the largest kind", AT(header.kind), 2, UINT16_MAX, RECORD_BAD},
    {"progress with a body", AT(header.kind), 2, DISCOVERY_RECORD_PROGRESS, RECORD_BAD},
    {"size 0", AT(header.size), 4, 0, RECORD_BAD},
    {"the size of a header", AT(header.size), 4, 8, RECORD_BAD},
    {"one byte less", AT(header.size), 4, sizeof mapping - 1, RECORD_BAD},
    {"one byte more", AT(header.size), 4, sizeof mapping + 1, RECORD_BAD},
    {"the largest size", AT(header.size), 4, UINT32_MAX, RECORD_BAD},
    {"pid 0", AT(pid), 4, 0, RECORD_BAD},
    {"a pid that is negative", AT(pid), 4, (uint32_t)INT_MAX + 1, RECORD_BAD},
    {"pid -1", AT(pid), 4, UINT32_MAX, RECORD_BAD},
    {"the largest pid", AT(pid), 4, INT_MAX, RECORD_OK},
    {"no pid of its own", AT(namespace_pid), 4, 0, RECORD_OK},
    {"its own pid negative", AT(namespace_pid), 4, UINT32_MAX, RECORD_BAD},
    {"no path", AT(socket_path_length), 4, 0, RECORD_OK},
    {"a path that is too long", AT(socket_path_length), 4, 109, RECORD_BAD},
    {"the longest path", AT(socket_path_length), 4, UINT32_MAX, RECORD_BAD},
};

static void each_change_has_its_result(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(changes); i++) {
        struct discovery_record in = mapping, out;
        uint16_t narrow = (uint16_t)changes[i].value;
        memcpy((char *)&in + changes[i].at,
               changes[i].width == 2 ? (const void *)&narrow : &changes[i].value, changes[i].width);
        size_t size = 77;
        RecordResult result = decode(&in, sizeof in, &out, &size);
        if (result != changes[i].result)
            fail_msg("%s: %d", changes[i].what, (int)result);
        assert_int_equal(size, result == RECORD_OK ? sizeof in : 77);
    }
}

// What is wrong with a header is known from the header alone.
static void a_bad_header_is_not_waited_for(void **state) {
    (void)state;
    struct discovery_record out;
    struct discovery_record_header version = progress, size = mapping.header;
    size_t taken;
    version.version = 9;
    size.size--;
    assert_int_equal(decode(&version, sizeof version, &out, &taken), RECORD_VERSION);
    assert_int_equal(decode(&size, sizeof size, &out, &taken), RECORD_BAD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_out_as_it_went_in),
        cmocka_unit_test(a_progress_record_is_a_header_alone),
        cmocka_unit_test(a_stream_of_records_is_taken_one_by_one),
        cmocka_unit_test(a_torn_record_is_short_and_touches_nothing),
        cmocka_unit_test(a_command_always_ends),
        cmocka_unit_test(a_socket_path_may_be_full),
        cmocka_unit_test(each_change_has_its_result),
        cmocka_unit_test(a_bad_header_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
