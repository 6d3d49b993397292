// Whose a socket is: that of whoever the kernel names and the answer too.
// SPDX-License-Identifier: MIT
#include <endian.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_port.h"
#include "ipc.h"
#include "macro.h"

#define NAME "dotnet-diagnostic-1-2-socket"

enum { OTHER_SIZE = 128 };

// No process has it, and its lower half is right.
static uint64_t other_pid(void) {
    return (UINT64_C(1) << 32) + (uint64_t)getpid();
}

// The reply, but of a process with another pid, which stands at this place in it. `bytes` is lent.
static FakeReply of_another(const FakeReply *reply, size_t place,
                            uint8_t bytes[static OTHER_SIZE]) {
    FakeReply other = *reply;
    assert_true(reply->size <= OTHER_SIZE);
    memcpy(bytes, reply->bytes, reply->size);
    uint64_t pid = htole64(other_pid());
    memcpy(bytes + place, &pid, sizeof pid);
    other.bytes = bytes;
    return other;
}

static void assert_other(const Input *input, const char *path) {
    char detail[64];
    snprintf(detail, sizeof detail, "answers as process %" PRIu64 ", not %d", other_pid(),
             getpid());
    assert_int_equal(input->probed.outcome, OUTCOME_NOT_OWNER);
    assert_detail(input, detail);
    assert_detail(input, path);

    const Facts *facts = input->probed.facts;
    assert_string_equal(facts->socket_path, path);
    assert_string_equal(facts->command, "owner_test");
    assert_false(facts->has_cookie);
    assert_null(facts->runtime_version);
    assert_null(facts->entry_assembly);
    assert_null(facts->operating_system);
    assert_null(facts->architecture);
    assert_null(facts->portable_rid);
    assert_null(facts->arguments);
}

// A child of fork() holds its parent's socket and is not who listens there.
static void test_not_owner(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    pid_t child = child_listening(NULL);
    const char *const hints[] = {port.path, ""};
    for (size_t i = 0; i < ELEMENTS_OF(hints); i++) {
        const Input *input = fixture_probe(fixture, child, hints[i]);
        char pid[32];
        snprintf(pid, sizeof pid, "pid %d", getpid());
        assert_int_equal(input->probed.outcome, OUTCOME_NOT_OWNER);
        assert_detail(input, pid);
    }
    // Connected to, since only then the kernel tells, but not asked.
    fixture_turn(fixture);
    for (size_t i = 0; i < port.connections_count; i++)
        assert_int_equal(port.connections[i].request_size, 0);
    end_child(child);
    fake_port_done(&port);
}

// Each version of the answer has the pid; nothing else of it is kept.
static void test_answer_of_another(void **state) {
    Fixture *fixture = *state;
    uint8_t bytes[3][OTHER_SIZE];
    FakeReply newest = of_another(&fake_version3, IPC_HEADER_SIZE + 4, bytes[0]);
    FakeReply older = of_another(&fake_version2, IPC_HEADER_SIZE, bytes[1]);
    FakeReply oldest = of_another(&fake_version1, IPC_HEADER_SIZE, bytes[2]);
    const struct {
        FakeReply replies[3];
        size_t count;
    } cases[] = {
        {{newest}, 1},
        {{fake_unknown, older}, 2},
        {{fake_unknown, fake_unknown, oldest}, 3},
    };
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        FakePort port;
        fake_port_init(fixture, &port, NAME, cases[i].replies, cases[i].count);
        assert_other(fixture_probe(fixture, getpid(), port.path), port.path);
        assert_int_equal(port.connections_count, cases[i].count);
        fake_port_done(&port);
        unlink(port.path);
    }
}

// A process may share a socket with another and have one of its own.
static void test_others_are_tried(void **state) {
    Fixture *fixture = *state;
    uint8_t bytes[OTHER_SIZE];
    FakeReply other = of_another(&fake_version3, IPC_HEADER_SIZE + 4, bytes);
    FakePort shared, own;
    fake_port_init(fixture, &shared, "dotnet-diagnostic-3-4-socket", &other, 1);
    fake_port_init(fixture, &own, NAME, &fake_version3, 1);
    const Input *input = fixture_probe(fixture, getpid(), shared.path);
    assert_int_equal(input->probed.outcome, OUTCOME_ANSWERED);
    assert_null(input->probed.detail);
    assert_string_equal(input->probed.facts->socket_path, own.path);
    assert_int_equal(shared.connections_count, 1);
    assert_int_equal(own.connections_count, 1);
    fake_port_done(&shared);
    fake_port_done(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_not_owner, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_answer_of_another, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_others_are_tried, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
