// perf_record.c: records as the kernel writes them, torn ones, and sizes that no kernel writes.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#include "cleanup.h"
#include "exact.h"
#include "macro.h"
#include "perf_record.h"

// Bytes put one after the other, as the kernel does.
typedef struct Bytes {
    size_t size;
    _Alignas(8) unsigned char bytes[512];
} Bytes;

static void put(Bytes *bytes, const void *data, size_t size) {
    memcpy(bytes->bytes + bytes->size, data, size);
    bytes->size += size;
}

static void put32(Bytes *bytes, uint32_t value) {
    put(bytes, &value, sizeof value);
}

static void put64(Bytes *bytes, uint64_t value) {
    put(bytes, &value, sizeof value);
}

static void put_text(Bytes *bytes, const char *text) {
    put(bytes, text, strlen(text) + 1);
    while (bytes->size % 8 != 0)
        put(bytes, "", 1);
}

static Bytes begin(uint32_t type, uint16_t misc) {
    struct perf_event_header header = {.type = type, .misc = misc};
    Bytes bytes = {0};
    put(&bytes, &header, sizeof header);
    return bytes;
}

static void set_size(void *record, size_t size) {
    const uint16_t field = (uint16_t)size;
    memcpy((char *)record + offsetof(struct perf_event_header, size), &field, sizeof field);
}

static Bytes finish(Bytes bytes, uint64_t time_ns) {
    put64(&bytes, time_ns);
    set_size(bytes.bytes, bytes.size);
    return bytes;
}

static Bytes mapping(uint32_t pid, uint32_t protection, const char *path) {
    Bytes bytes = begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
    put32(&bytes, pid);
    put32(&bytes, pid + 1); // the thread
    put64(&bytes, 0x7f0000000000);
    put64(&bytes, 4096);
    put64(&bytes, 0);
    put32(&bytes, 0);
    put32(&bytes, 1);
    put64(&bytes, 63531);
    put64(&bytes, 7);
    put32(&bytes, protection);
    put32(&bytes, MAP_PRIVATE);
    put_text(&bytes, path);
    return finish(bytes, 1274930000123);
}

static Bytes command(uint32_t pid, uint16_t misc, const char *name) {
    Bytes bytes = begin(PERF_RECORD_COMM, misc);
    put32(&bytes, pid);
    put32(&bytes, pid);
    put_text(&bytes, name);
    return finish(bytes, 77);
}

static Bytes loss(uint64_t count) {
    Bytes bytes = begin(PERF_RECORD_LOST, 0);
    put64(&bytes, 5);
    put64(&bytes, count);
    return finish(bytes, 88);
}

static PerfRecord decoded(const Bytes *bytes) {
    PerfRecord record = {0};
    _cleanup_free_ void *copy = exact_bytes(bytes->bytes, bytes->size);
    assert_int_equal(perf_record_size(copy), bytes->size);
    assert_true(perf_record_decode(copy, bytes->size, &record));
    return record;
}

#define CREATED "/memfd:dotnet_ipc_created (deleted)"
#define TESTING "/memfd:dotnet_ipc_testing (deleted)"

static void a_mapping_of_any_protection_is_one(void **state) {
    (void)state;
    static const uint32_t protections[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_EXEC};
    for (size_t i = 0; i < ELEMENTS_OF(protections); i++) {
        Bytes bytes = mapping(16858, protections[i], CREATED);
        assert_int_equal(bytes.size, PERF_RECORD_LONGEST);
        PerfRecord record = decoded(&bytes);
        assert_int_equal(record.kind, PERF_RECORD_KIND_MAPPING);
        assert_int_equal(record.pid, 16858);
        assert_int_equal(record.protection, protections[i]);
        assert_int_equal(record.time_ns, 1274930000123);
    }
}

static void that_of_the_self_test_is_told_apart(void **state) {
    (void)state;
    Bytes bytes = mapping(1, PROT_NONE, TESTING);
    PerfRecord record = decoded(&bytes);
    assert_int_equal(record.kind, PERF_RECORD_KIND_TEST);
    assert_int_equal(record.pid, 1);
}

static void other_mappings_are_of_no_interest(void **state) {
    (void)state;
    static const char *const paths[] = {
        "", "//anon", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/memfd:dotnet_ipc_createe (deleted)",
        "/memfd:dotnet_ipc_created (deletes)", "/memfd:dotnet_ipc_created",
        "/tmp/memfd:dotnet_ipc_created (deleted)", "/memfd:dotnet_ipc_created (deleted) ",
        // As long as the record that is looked for, and far longer.
        "/123456789012345678901234567890123456",
        "/a/very/long/path/a/very/long/path/a/very/long/path/a/very/long/path/a/very/long/path/x"};
    for (size_t i = 0; i < ELEMENTS_OF(paths); i++) {
        Bytes bytes = mapping(42, PROT_NONE, paths[i]);
        assert_int_equal(decoded(&bytes).kind, PERF_RECORD_KIND_OTHER);
    }
}

static void a_process_without_a_pid_here_is_of_no_interest(void **state) {
    (void)state;
    static const uint32_t pids[] = {0, UINT32_MAX, (uint32_t)INT_MAX + 1};
    for (size_t i = 0; i < ELEMENTS_OF(pids); i++) {
        Bytes bytes = mapping(pids[i], PROT_NONE, CREATED);
        assert_int_equal(decoded(&bytes).kind, PERF_RECORD_KIND_OTHER);
        bytes = command(pids[i], PERF_RECORD_MISC_COMM_EXEC, "dotnet");
        assert_int_equal(decoded(&bytes).kind, PERF_RECORD_KIND_OTHER);
    }
    Bytes bytes = mapping(INT_MAX, PROT_NONE, CREATED);
    assert_int_equal(decoded(&bytes).pid, INT_MAX);
}

static void a_command_is_an_execve_only_where_the_record_says_so(void **state) {
    (void)state;
    static const char *const names[] = {"", "true", "1234567", "fifteen letters"};
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        Bytes bytes = command(7, PERF_RECORD_MISC_COMM_EXEC, names[i]);
        PerfRecord record = decoded(&bytes);
        assert_int_equal(record.kind, PERF_RECORD_KIND_EXECVE);
        assert_int_equal(record.pid, 7);
        assert_int_equal(record.time_ns, 77);
        bytes = command(7, 0, names[i]);
        assert_int_equal(decoded(&bytes).kind, PERF_RECORD_KIND_OTHER);
    }
}

static void a_loss_has_its_count(void **state) {
    (void)state;
    Bytes bytes = loss(UINT64_MAX);
    PerfRecord record = decoded(&bytes);
    assert_int_equal(record.kind, PERF_RECORD_KIND_LOSS);
    assert_int_equal(record.lost, UINT64_MAX);
}

static void a_record_of_another_type_is_of_no_interest(void **state) {
    (void)state;
    static const uint32_t types[] = {0, PERF_RECORD_MMAP, PERF_RECORD_THROTTLE, PERF_RECORD_MAX,
                                     UINT32_MAX};
    for (size_t i = 0; i < ELEMENTS_OF(types); i++) {
        Bytes bytes = finish(begin(types[i], UINT16_MAX), 0);
        assert_int_equal(decoded(&bytes).kind, PERF_RECORD_KIND_OTHER);
    }
}

static bool is_refused(const void *bytes, size_t size) {
    PerfRecord record, untouched;
    memset(&record, 0xa5, sizeof record);
    untouched = record;
    if (perf_record_decode(bytes, size, &record))
        return false;
    assert_memory_equal(&record, &untouched, sizeof record);
    return true;
}

// Whatever was torn off: at a size that is not the header's it is refused, and one whose header was
// made to fit is at most of no interest.
static void a_torn_record_is_refused(void **state) {
    (void)state;
    const Bytes whole[] = {mapping(42, PROT_NONE, CREATED),
                           command(42, PERF_RECORD_MISC_COMM_EXEC, "fifteen letters"), loss(3)};
    for (size_t i = 0; i < ELEMENTS_OF(whole); i++) {
        for (size_t size = 0; size < whole[i].size; size++) {
            _cleanup_free_ void *copy = exact_bytes(whole[i].bytes, size);
            assert_true(is_refused(copy, size));
            if (size < PERF_RECORD_HEADER)
                continue;
            PerfRecord record = {0};
            set_size(copy, size);
            bool taken = perf_record_decode(copy, size, &record);
            // A command has no one size.
            if (taken && i != 1)
                assert_int_equal(record.kind, PERF_RECORD_KIND_OTHER);
        }
    }
}

static void a_command_without_room_for_one_is_refused(void **state) {
    (void)state;
    Bytes bytes = begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put64(&bytes, 42);
    bytes = finish(bytes, 0);
    assert_true(is_refused(bytes.bytes, bytes.size));
}

static void a_loss_of_another_size_is_refused(void **state) {
    (void)state;
    Bytes bytes = begin(PERF_RECORD_LOST, 0);
    put64(&bytes, 5);
    bytes = finish(bytes, 0);
    assert_true(is_refused(bytes.bytes, bytes.size));
}

static void a_size_that_no_kernel_writes_is_none(void **state) {
    (void)state;
    for (unsigned size = 0; size <= UINT16_MAX; size++) {
        struct perf_event_header header = {.type = PERF_RECORD_MMAP2, .size = (uint16_t)size};
        assert_int_equal(perf_record_size(&header), size % 8 == 0 ? size : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_of_any_protection_is_one),
        cmocka_unit_test(that_of_the_self_test_is_told_apart),
        cmocka_unit_test(other_mappings_are_of_no_interest),
        cmocka_unit_test(a_process_without_a_pid_here_is_of_no_interest),
        cmocka_unit_test(a_command_is_an_execve_only_where_the_record_says_so),
        cmocka_unit_test(a_loss_has_its_count),
        cmocka_unit_test(a_record_of_another_type_is_of_no_interest),
        cmocka_unit_test(a_torn_record_is_refused),
        cmocka_unit_test(a_command_without_room_for_one_is_refused),
        cmocka_unit_test(a_loss_of_another_size_is_refused),
        cmocka_unit_test(a_size_that_no_kernel_writes_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
