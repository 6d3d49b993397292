// ipc.c against replies of a real runtime (.NET 10.0.12, suspended at its start), torn at every
// byte, and against replies that no runtime gives.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "bounds.h"
#include "cleanup.h"
#include "exact.h"
#include "failing_malloc.h"
#include "ipc.h"
#include "macro.h"

// Bytes as string literals: a header, little endian numbers, UTF-16 texts.
#define MAGIC "DOTNET_IPC_V1\0"
#define OK(size) MAGIC size "\xff\x00\x00\x00"
#define ERROR(size) MAGIC size "\xff\xff\x00\x00"
#define PID "\xda\x41\0\0\0\0\0\0"
#define COOKIE "\x12\xf0\x3b\x24\x64\x38\x0c\x47\x89\x03\x18\x3c\x34\xf8\x4d\xfc"
#define COMMAND_LINE                                                                  \
    "\x19\0\0\0/\0u\0s\0r\0/\0s\0h\0a\0r\0e\0/\0d\0o\0t\0n\0e\0t\0/\0d\0o\0t\0n\0e\0" \
    "t\0\0\0"
#define SYSTEM "\x06\0\0\0L\0i\0n\0u\0x\0\0\0"
#define ARCHITECTURE \
    "\x04\0\0\0x\0"  \
    "6\0"            \
    "4\0\0\0"
#define ASSEMBLY "\x07\0\0\0d\0o\0t\0n\0e\0t\0\0\0"
#define VERSION  \
    "\x08\0\0\0" \
    "1\0"        \
    "0\0.\0"     \
    "0\0.\0"     \
    "1\0"        \
    "2\0\0\0"
#define RID                           \
    "\x0a\0\0\0l\0i\0n\0u\0x\0-\0x\0" \
    "6\0"                             \
    "4\0\0\0"
#define EMPTY "\x01\0\0\0\0\0"
#define NOTHING "\0\0\0\0"

#define BYTES(literal) literal, sizeof(literal) - 1

static const struct Good {
    const char *what;
    int version;
    const char *bytes;
    size_t size;
    struct {
        const char *command_line, *operating_system, *architecture;
        const char *entry_assembly, *runtime_version, *portable_rid;
    } info; // the pid and the cookie above go without saying
} good[] = {
    {"ProcessInfo3 of 10.0.12",
     3,
     BYTES(OK(
         "\xc0\0") "\x01\0\0\0" PID COOKIE COMMAND_LINE SYSTEM ARCHITECTURE ASSEMBLY VERSION RID),
     {.command_line = "/usr/share/dotnet/dotnet",
      .operating_system = "Linux",
      .architecture = "x64",
      .entry_assembly = "dotnet",
      .runtime_version = "10.0.12",
      .portable_rid = "linux-x64"}},
    {"ProcessInfo2 of 10.0.12",
     2,
     BYTES(OK("\xa4\0") PID COOKIE COMMAND_LINE SYSTEM ARCHITECTURE ASSEMBLY VERSION),
     {.command_line = "/usr/share/dotnet/dotnet",
      .operating_system = "Linux",
      .architecture = "x64",
      .entry_assembly = "dotnet",
      .runtime_version = "10.0.12"}},
    {"ProcessInfo of 10.0.12",
     1,
     BYTES(OK("\x7e\0") PID COOKIE COMMAND_LINE SYSTEM ARCHITECTURE),
     {.command_line = "/usr/share/dotnet/dotnet",
      .operating_system = "Linux",
      .architecture = "x64"}},
    {"strings of nothing but a NUL",
     1,
     BYTES(OK("\x3e\0") PID COOKIE EMPTY EMPTY EMPTY),
     {.command_line = "", .operating_system = "", .architecture = ""}},
    {"strings of no units",
     3,
     BYTES(OK("\x48\0") "\x01\0\0\0" PID COOKIE NOTHING NOTHING NOTHING NOTHING NOTHING NOTHING),
     {.command_line = "",
      .operating_system = "",
      .architecture = "",
      .entry_assembly = "",
      .runtime_version = "",
      .portable_rid = ""}},
    {"a later layout that appends",
     3,
     BYTES(OK("\x4c\0") "\x02\0\0\0" PID COOKIE NOTHING NOTHING NOTHING NOTHING NOTHING NOTHING
                        "more"),
     {.command_line = "",
      .operating_system = "",
      .architecture = "",
      .entry_assembly = "",
      .runtime_version = "",
      .portable_rid = ""}},
    {"what the header keeps for later",
     1,
     BYTES(MAGIC "\x38\0\xff\0\x34\x12" PID COOKIE NOTHING NOTHING NOTHING),
     {.command_line = "", .operating_system = "", .architecture = ""}},
    {"text that is not ASCII, a lone surrogate, no NUL",
     1,
     BYTES(OK("\x42\0") PID COOKIE "\x05\0\0\0\xfc\0\x3d\xd8\x00\xde\x3d\xd8!\0" NOTHING NOTHING),
     {.command_line = "\xc3\xbc\xf0\x9f\x98\x80\xed\xa0\xbd!",
      .operating_system = "",
      .architecture = ""}},
    {"a NUL within a string ends it",
     1,
     BYTES(OK("\x3e\0") PID COOKIE "\x03\0\0\0a\0\0\0b\0" NOTHING NOTHING),
     {.command_line = "a", .operating_system = "", .architecture = ""}},
};

typedef struct Outcome {
    int result;
    IpcProcessInfo info;
    size_t wanted;
    uint32_t code;
    const char *fault;
} Outcome;

static void outcome_done(Outcome *outcome) {
    ipc_process_info_done(&outcome->info);
}

static Outcome parse(int version, const void *bytes, size_t size) {
    _cleanup_free_ uint8_t *copy = exact_bytes(bytes, size);
    Outcome outcome = {0};
    outcome.result = ipc_reply_parse(version, copy, size, &outcome.info, &outcome.wanted,
                                     &outcome.code, &outcome.fault);
    // An outcome brings what belongs to it and nothing else.
    assert_int_equal(outcome.wanted != 0, outcome.result == IPC_MORE);
    assert_int_equal(outcome.code != 0, outcome.result == IPC_ERROR_REPLY);
    assert_int_equal(outcome.fault != NULL, outcome.result == IPC_BAD);
    assert_int_equal(outcome.info.command_line != NULL, outcome.result == IPC_OK);
    return outcome;
}

static void assert_text_equal(const char *what, const char *got, const char *wanted) {
    if (!got != !wanted || (got && strcmp(got, wanted) != 0))
        fail_msg("%s: %s, not %s", what, got ? got : "none", wanted ? wanted : "none");
}

static void assert_is(const struct Good *wanted, const IpcProcessInfo *info) {
    assert_int_equal(info->pid, 0x41da);
    assert_memory_equal(info->cookie, COOKIE, 16);
    assert_text_equal(wanted->what, info->command_line, wanted->info.command_line);
    assert_text_equal(wanted->what, info->operating_system, wanted->info.operating_system);
    assert_text_equal(wanted->what, info->architecture, wanted->info.architecture);
    assert_text_equal(wanted->what, info->entry_assembly, wanted->info.entry_assembly);
    assert_text_equal(wanted->what, info->runtime_version, wanted->info.runtime_version);
    assert_text_equal(wanted->what, info->portable_rid, wanted->info.portable_rid);
}

static void a_request_is_twenty_bytes(void **state) {
    (void)state;
    static const uint8_t commands[] = {[1] = 0x00, [2] = 0x04, [3] = 0x08};
    for (int version = 1; version <= IPC_VERSION_NEWEST; version++) {
        uint8_t expected[] = MAGIC "\x14\0\x04\0\0";
        _Static_assert(sizeof expected == IPC_HEADER_SIZE, "the literal's NUL is the last byte");
        expected[17] = commands[version];
        uint8_t request[IPC_HEADER_SIZE];
        ipc_request(version, request);
        assert_memory_equal(request, expected, sizeof expected);
    }
}

static void each_good_reply_comes_out_and_no_part_of_it_does(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(good); i++) {
        for (size_t size = 0; size <= good[i].size; size++) {
            _cleanup_(outcome_done) Outcome outcome = parse(good[i].version, good[i].bytes, size);
            if (size == good[i].size) {
                if (outcome.result != IPC_OK)
                    fail_msg("%s: %d", good[i].what, outcome.result);
                assert_is(&good[i], &outcome.info);
                continue;
            }
            if (outcome.result != IPC_MORE)
                fail_msg("%s, %zu bytes: %d", good[i].what, size, outcome.result);
            assert_int_equal(outcome.wanted, size < IPC_HEADER_SIZE ? 20 : good[i].size);
        }
    }
}

static void bytes_behind_a_reply_are_not_its_own(void **state) {
    (void)state;
    char bytes[512] = {0};
    memcpy(bytes, good[0].bytes, good[0].size);
    memset(bytes + good[0].size, 0xff, 100);
    _cleanup_(outcome_done) Outcome outcome = parse(3, bytes, good[0].size + 100);
    assert_int_equal(outcome.result, IPC_OK);
    assert_is(&good[0], &outcome.info);
}

static const struct {
    const char *what;
    const char *bytes;
    size_t size;
    int result;
    uint32_t code;
} errors[] = {
    {"unknown command, of 3.1.3 and 10.0.12", BYTES(ERROR("\x18\0") "\x85\x13\x13\x80"),
     IPC_UNKNOWN_COMMAND, 0},
    {"bad encoding", BYTES(ERROR("\x18\0") "\x84\x13\x13\x80"), IPC_ERROR_REPLY, 0x80131384},
    {"unknown magic", BYTES(ERROR("\x18\0") "\x86\x13\x13\x80"), IPC_ERROR_REPLY, 0x80131386},
    {"not supported", BYTES(ERROR("\x18\0") "\x15\x15\x13\x80"), IPC_ERROR_REPLY, 0x80131515},
    {"a command line that is too long", BYTES(ERROR("\x18\0") "\x05\x40\0\x80"), IPC_ERROR_REPLY,
     0x80004005},
    {"28 bytes, as the protocol's document says", BYTES(ERROR("\x1c\0") "\x85\x13\x13\x80\0\0\0\0"),
     IPC_UNKNOWN_COMMAND, 0},
};

static void each_error_reply_is_told_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(errors); i++) {
        for (int version = 1; version <= IPC_VERSION_NEWEST; version++) {
            for (size_t size = 0; size < errors[i].size; size++)
                assert_int_equal(parse(version, errors[i].bytes, size).result, IPC_MORE);
            Outcome outcome = parse(version, errors[i].bytes, errors[i].size);
            if (outcome.result != errors[i].result)
                fail_msg("%s: %d", errors[i].what, outcome.result);
            assert_int_equal(outcome.code, errors[i].code);
        }
    }
}

// `known` is after how many bytes no more are needed to know.
static const struct {
    const char *what;
    int version;
    const char *bytes;
    size_t size;
    size_t known;
} bad[] = {
    {"HTTP", 3, BYTES("HTTP/1.1 400 Bad Request\r\n"), 1},
    {"another version of the protocol", 3, BYTES("DOTNET_IPC_V2\0\x14\0\xff\0\0\0"), 13},
    {"a magic without its NUL", 3, BYTES("DOTNET_IPC_V1 \x14\0\xff\0\0\0"), 14},
    {"an advertisement", 3, BYTES("ADVR_V1\0" COOKIE PID "\0\0"), 1},
    {"size 0", 3, BYTES(OK("\0\0")), 16},
    {"size 19", 3, BYTES(OK("\x13\0")), 16},
    {"a request", 3, BYTES(MAGIC "\x14\0\x04\x08\0\0"), 17},
    {"command set 0", 3, BYTES(MAGIC "\x14\0\0\0\0\0"), 17},
    {"a command that is no reply", 3, BYTES(MAGIC "\x14\0\xff\x01\0\0"), 18},
    {"an error without a code", 3, BYTES(ERROR("\x14\0")), 20},
    {"an error with three bytes of a code", 3, BYTES(ERROR("\x17\0") "\x85\x13\x13"), 23},

    {"no payload", 3, BYTES(OK("\x14\0")), 20},
    {"half a version", 3, BYTES(OK("\x16\0") "\x01\0"), 22},
    {"version 0", 3,
     BYTES(OK("\x48\0") "\0\0\0\0" PID COOKIE NOTHING NOTHING NOTHING NOTHING NOTHING NOTHING), 72},
    {"a version alone", 3, BYTES(OK("\x18\0") "\x01\0\0\0"), 24},
    {"half a pid", 1, BYTES(OK("\x18\0") "\x01\0\0\0"), 24},
    {"half a cookie", 1, BYTES(OK("\x24\0") PID "12345678"), 36},
    {"no strings", 1, BYTES(OK("\x2c\0") PID COOKIE), 44},
    {"half a count", 1, BYTES(OK("\x2e\0") PID COOKIE "\0\0"), 46},
    {"a string without its last byte", 1, BYTES(OK("\x33\0") PID COOKIE "\x02\0\0\0a\0\0"), 51},
    {"a string missing", 1, BYTES(OK("\x34\0") PID COOKIE NOTHING NOTHING), 52},
    {"ProcessInfo for ProcessInfo2", 2, BYTES(OK("\x38\0") PID COOKIE NOTHING NOTHING NOTHING), 56},
    {"a count of 4 Gi", 1, BYTES(OK("\x38\0") PID COOKIE "\xff\xff\xff\xff" NOTHING NOTHING), 56},
    {"a count of 2 Gi", 1, BYTES(OK("\x38\0") PID COOKIE "\0\0\0\x80" NOTHING NOTHING), 56},
    {"a count one too large", 1, BYTES(OK("\x38\0") PID COOKIE NOTHING NOTHING "\x01\0\0\0"), 56},
    {"a count that reaches behind the reply", 1,
     BYTES(OK("\x38\0") PID COOKIE NOTHING NOTHING "\x01\0\0\0\0\0"), 56},
};

static void each_bad_reply_is_known_as_soon_as_it_can_be(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(bad); i++) {
        for (size_t size = 0; size <= bad[i].size; size++) {
            int result = parse(bad[i].version, bad[i].bytes, size).result;
            if (result != (size < bad[i].known ? IPC_MORE : IPC_BAD))
                fail_msg("%s, %zu bytes: %d", bad[i].what, size, result);
        }
    }
}

static void each_byte_of_the_magic_counts(void **state) {
    (void)state;
    for (size_t at = 0; at < sizeof MAGIC - 1; at++) {
        char bytes[] = OK("\x14\0");
        bytes[at] ^= 0x20;
        assert_int_equal(parse(3, bytes, at).result, IPC_MORE);
        assert_int_equal(parse(3, bytes, at + 1).result, IPC_BAD);
    }
}

static void a_size_may_be_anything_from_the_header_to_the_largest(void **state) {
    (void)state;
    for (unsigned size = 0; size <= UINT16_MAX; size++) {
        char bytes[] = OK("\x14\0");
        bytes[14] = (char)size;
        bytes[15] = (char)(size >> 8);
        Outcome outcome = parse(1, bytes, IPC_HEADER_SIZE);
        assert_int_equal(outcome.result, size <= IPC_HEADER_SIZE ? IPC_BAD : IPC_MORE);
        if (outcome.result == IPC_MORE)
            assert_int_equal(outcome.wanted, size);
    }
}

// The largest reply, all of it one command line of `units` units.
static uint8_t *largest_reply(size_t units) {
    uint8_t *bytes = calloc(1, BOUND_IPC_MESSAGE);
    assert_non_null(bytes);
    memcpy(bytes, good[2].bytes, 44);
    bytes[14] = bytes[15] = 0xff;
    bytes[44] = (uint8_t)units;
    bytes[45] = (uint8_t)(units >> 8);
    for (size_t i = 0; i < units; i++)
        bytes[48 + 2 * i] = 'x';
    return bytes;
}

static void a_long_string_is_kept_up_to_its_bound(void **state) {
    (void)state;
    static const size_t lengths[] = {BOUND_IPC_STRING - 1, BOUND_IPC_STRING, BOUND_IPC_STRING + 1,
                                     32700};
    for (size_t i = 0; i < ELEMENTS_OF(lengths); i++) {
        _cleanup_free_ uint8_t *bytes = largest_reply(lengths[i]);
        _cleanup_(outcome_done) Outcome outcome = parse(1, bytes, BOUND_IPC_MESSAGE);
        assert_int_equal(outcome.result, IPC_OK);
        size_t kept = lengths[i] < BOUND_IPC_STRING ? lengths[i] : BOUND_IPC_STRING;
        assert_int_equal(strlen(outcome.info.command_line), kept);
        assert_int_equal(strspn(outcome.info.command_line, "x"), kept);
        // What was not kept is skipped all the same: the next string is the right one.
        assert_string_equal(outcome.info.operating_system, "");
    }
}

static void without_memory_nothing_is_touched_nor_lost(void **state) {
    (void)state;
    const int allocations = 12; // six strings, one for each and one for giving back
    for (int succeed = 0; succeed <= allocations; succeed++) {
        IpcProcessInfo info = {.pid = 77};
        size_t wanted = 77;
        uint32_t code = 77;
        const char *fault = "untouched";
        failing_malloc_after(succeed);
        int r = ipc_reply_parse(3, (const uint8_t *)good[0].bytes, good[0].size, &info, &wanted,
                                &code, &fault);
        failing_malloc_stop();
        if (r == IPC_OK) {
            assert_is(&good[0], &info);
            ipc_process_info_done(&info);
        } else {
            assert_int_equal(r, -ENOMEM);
            assert_true(succeed < allocations);
            assert_int_equal(info.pid, 77);
            assert_null(info.command_line);
        }
        assert_int_equal(wanted, 77);
        assert_int_equal(code, 77);
        assert_string_equal(fault, "untouched");
    }
}

static void done_takes_nothing_and_leaves_nothing(void **state) {
    (void)state;
    ipc_process_info_done(NULL);
    IpcProcessInfo info = {.command_line = strdup("a")};
    ipc_process_info_done(&info);
    assert_null(info.command_line);
    ipc_process_info_done(&info);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_twenty_bytes),
        cmocka_unit_test(each_good_reply_comes_out_and_no_part_of_it_does),
        cmocka_unit_test(bytes_behind_a_reply_are_not_its_own),
        cmocka_unit_test(each_error_reply_is_told_apart),
        cmocka_unit_test(each_bad_reply_is_known_as_soon_as_it_can_be),
        cmocka_unit_test(each_byte_of_the_magic_counts),
        cmocka_unit_test(a_size_may_be_anything_from_the_header_to_the_largest),
        cmocka_unit_test(a_long_string_is_kept_up_to_its_bound),
        cmocka_unit_test(without_memory_nothing_is_touched_nor_lost),
        cmocka_unit_test(done_takes_nothing_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
