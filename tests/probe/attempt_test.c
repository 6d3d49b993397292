// One attempt at a time against a port played by this very process (SO_PEERCRED then names it) or
// by a child where the process itself has to be special.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "discovery_names.h"
#include "fake_port.h"
#include "ipc.h"
#include "macro.h"

#define NAME "dotnet-diagnostic-1-2-socket"

static void assert_asked(const FakePort *port, size_t connection, int version) {
    uint8_t expected[IPC_HEADER_SIZE];
    ipc_request(version, expected);
    assert_true(connection < port->connections_count);
    assert_int_equal(port->connections[connection].request_size, sizeof expected);
    assert_memory_equal(port->connections[connection].request, expected, sizeof expected);
    assert_true(port->connections[connection].closed);
}

static void test_answer(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);

    const Input *input = fixture_probe(fixture, getpid(), port.path);
    assert_int_equal(input->probed.outcome, OUTCOME_ANSWERED);
    assert_null(input->probed.detail);
    assert_int_equal(port.connections_count, 1);
    assert_asked(&port, 0, 3);

    const Facts *facts = input->probed.facts;
    assert_non_null(facts);
    assert_int_equal(facts->uid, geteuid());
    assert_int_equal(facts->gid, getegid());
    assert_int_equal(facts->namespace_pid, getpid());
    assert_string_equal(facts->command, "attempt_test");
    char executable[4096] = "";
    assert_true(readlink("/proc/self/exe", executable, sizeof executable - 1) > 0);
    assert_string_equal(facts->executable, executable);
    assert_non_null(facts->cgroup);
    assert_non_null(facts->arguments);
    assert_int_equal(facts->arguments[facts->arguments_size - 1], 0);
    assert_non_null(strstr(facts->arguments, "attempt_test"));
    assert_false(facts->arguments_truncated);
    assert_string_equal(facts->socket_path, port.path);
    assert_true(facts->has_cookie);
    assert_memory_equal(facts->cookie, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16);
    assert_string_equal(facts->runtime_version, "v9");
    assert_string_equal(facts->entry_assembly, "App");
    assert_string_equal(facts->operating_system, "Linux");
    assert_string_equal(facts->architecture, "x64");
    assert_string_equal(facts->portable_rid, "r");
    assert_int_equal(probe_counters(fixture->pool)->attempts, 1);
    assert_int_equal(probe_counters(fixture->pool)->answered, 1);
    fake_port_done(&port);
}

static void test_torn_answer(void **state) {
    Fixture *fixture = *state;
    FakeReply torn = fake_version3;
    torn.torn = torn.closes = true;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &torn, 1);
    const Input *input = fixture_probe(fixture, getpid(), port.path);
    assert_int_equal(input->probed.outcome, OUTCOME_ANSWERED);
    assert_string_equal(input->probed.facts->portable_rid, "r");
    assert_int_equal(port.connections_count, 1);
    fake_port_done(&port);
}

// Older and oldest runtimes, and one that cannot tell.
static void test_fall_back(void **state) {
    Fixture *fixture = *state;
    const struct {
        FakeReply replies[3];
        size_t count;
        const char *version;
        const char *architecture;
    } cases[] = {
        {{fake_unknown, fake_version2}, 2, "v9", "x64"},
        {{fake_unknown, fake_unknown, fake_version1}, 3, NULL, "x64"},
        {{fake_unknown, fake_unknown, fake_unknown}, 3, NULL, NULL},
        {{fake_failed}, 1, NULL, NULL},
        {{fake_unknown, fake_failed}, 2, NULL, NULL},
    };
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        FakePort port;
        fake_port_init(fixture, &port, NAME, cases[i].replies, cases[i].count);
        const Input *input = fixture_probe(fixture, getpid(), port.path);
        assert_int_equal(input->probed.outcome, OUTCOME_ANSWERED);
        assert_int_equal(port.connections_count, cases[i].count);
        for (size_t j = 0; j < cases[i].count; j++)
            assert_asked(&port, j, 3 - (int)j);

        const Facts *facts = input->probed.facts;
        assert_int_equal(facts->has_cookie, cases[i].architecture != NULL);
        assert_string_equal(facts->socket_path, port.path);
        if (cases[i].version)
            assert_string_equal(facts->runtime_version, cases[i].version);
        else
            assert_null(facts->runtime_version);
        if (cases[i].architecture)
            assert_string_equal(facts->architecture, cases[i].architecture);
        else
            assert_null(facts->architecture);
        fake_port_done(&port);
        unlink(port.path);
    }
}

static void test_not_the_protocol(void **state) {
    Fixture *fixture = *state;
    FakeReply cut = fake_version3;
    cut.closes = true;
    cut.size = 50;
    FakeReply header_cut = cut;
    header_cut.size = 19;
    FakeReply nothing = {.closes = true};
    FakeReply http = {.bytes = (const uint8_t *)"HTTP/1.1 400 Bad Request\r\n", .size = 26};
    FakeReply torn_http = http;
    torn_http.torn = true;
    uint8_t bytes[200];
    memcpy(bytes, fake_version3.bytes, fake_version3.size);
    bytes[14] = 19; // smaller than the header
    FakeReply small = {.bytes = bytes, .size = fake_version3.size};
    const struct {
        FakeReply reply;
        Outcome outcome;
        const char *detail;
    } cases[] = {
        {cut, OUTCOME_PROTOCOL_ERROR, "after 50 bytes"},
        {header_cut, OUTCOME_PROTOCOL_ERROR, "after 19 bytes"},
        {nothing, OUTCOME_HUNG_UP, "without an answer"},
        {http, OUTCOME_PROTOCOL_ERROR, "DOTNET_IPC_V1"},
        {torn_http, OUTCOME_PROTOCOL_ERROR, "DOTNET_IPC_V1"},
        {small, OUTCOME_PROTOCOL_ERROR, "smaller"},
    };
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        FakePort port;
        fake_port_init(fixture, &port, NAME, &cases[i].reply, 1);
        const Input *input = fixture_probe(fixture, getpid(), port.path);
        assert_int_equal(input->probed.outcome, cases[i].outcome);
        assert_detail(input, port.path);
        assert_detail(input, cases[i].detail);
        assert_int_equal(port.connections_count, 1);
        assert_string_equal(input->probed.facts->socket_path, port.path);
        assert_null(input->probed.facts->arguments);
        assert_string_equal(input->probed.facts->command, "attempt_test");
        fake_port_done(&port);
        unlink(port.path);
    }
}

static void test_found_without_hint(void **state) {
    Fixture *fixture = *state;
    FakePort others[3], port;
    for (size_t i = 0; i < ELEMENTS_OF(others); i++) {
        char name[16];
        snprintf(name, sizeof name, "app%zu", i);
        fake_port_init(fixture, &others[i], name, &fake_silent, 1);
    }
    fake_port_init(fixture, &port, "dotnet-diagno", &fake_version3, 1);
    const Input *input = fixture_probe(fixture, getpid(), "");
    assert_int_equal(input->probed.outcome, OUTCOME_ANSWERED);
    assert_string_equal(input->probed.facts->socket_path, port.path);
    for (size_t i = 0; i < ELEMENTS_OF(others); i++) {
        assert_int_equal(others[i].connections_count, 0);
        fake_port_done(&others[i]);
    }
    fake_port_done(&port);
}

// More descriptors than one step looks at.
static void test_found_among_many(void **state) {
    Fixture *fixture = *state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < 4096) {
        print_message("Skipped: RLIMIT_NOFILE cannot be raised to 4096.\n");
        skip();
    }
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);

    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    static int many[3000];
    for (size_t i = 0; i < ELEMENTS_OF(many); i++) {
        many[i] = dup(0);
        assert_true(many[i] >= 0);
    }
    const Input *input = fixture_probe(fixture, getpid(), "");
    assert_int_equal(input->probed.outcome, OUTCOME_ANSWERED);

    // Cancelled on the way.
    ProcessKey key = key_of(getpid());
    assert_int_equal(
        probe_start(fixture->pool, 1, &(ProbeTarget){.key = key, .uid = 0, .socket_hint = ""}), 0);
    while (probe_counters(fixture->pool)->in_flight == 0)
        assert_true(sd_event_run(fixture->event, 0) >= 0);
    probe_cancel(fixture->pool, 1);

    for (size_t i = 0; i < ELEMENTS_OF(many); i++)
        close(many[i]);
    limit.rlim_cur = before;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    fake_port_done(&port);
}

// Where no socket has the default name, the others are asked until one answers.
static void test_found_under_another_name(void **state) {
    Fixture *fixture = *state;
    FakeReply http = {.bytes = (const uint8_t *)"HTTP/1.1 400 Bad Request\r\n", .size = 26};
    FakePort app, port;
    fake_port_init(fixture, &app, "app", &http, 1);
    fake_port_init(fixture, &port, "custom", &fake_version3, 1);
    const Input *input = fixture_probe(fixture, getpid(), "");
    assert_int_equal(input->probed.outcome, OUTCOME_ANSWERED);
    assert_string_equal(input->probed.facts->socket_path, port.path);
    assert_int_equal(port.connections_count, 1);
    assert_true(app.connections_count <= 1);
    fake_port_done(&app);
    fake_port_done(&port);
}

static void test_stale_hints(void **state) {
    Fixture *fixture = *state;
    char dead[SOCKET_PATH_SIZE], missing[SOCKET_PATH_SIZE];
    fixture_path(fixture, "dead", dead);
    fixture_path(fixture, "missing", missing);
    int fd = listen_at(dead);
    safe_close(fd);

    // Nothing else is found: the hint's failure is told.
    const Input *input = fixture_probe(fixture, getpid(), dead);
    assert_int_equal(input->probed.outcome, OUTCOME_REFUSED);
    assert_detail(input, "ECONNREFUSED");
    assert_string_equal(input->probed.facts->socket_path, dead);
    input = fixture_probe(fixture, getpid(), missing);
    assert_int_equal(input->probed.outcome, OUTCOME_NO_SOCKET);
    assert_detail(input, "missing");
    input = fixture_probe(fixture, getpid(), "");
    assert_int_equal(input->probed.outcome, OUTCOME_NO_SOCKET);
    assert_null(input->probed.facts->socket_path);

    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    const char *const hints[] = {dead, missing, "relative", "/tmp", ""};
    for (size_t i = 0; i < ELEMENTS_OF(hints); i++) {
        input = fixture_probe(fixture, getpid(), hints[i]);
        assert_int_equal(input->probed.outcome, OUTCOME_ANSWERED);
        assert_null(input->probed.detail);
        assert_string_equal(input->probed.facts->socket_path, port.path);
    }
    fake_port_done(&port);
}

// A deleted socket is still in the table, under the path that just was not there.
static void test_deleted(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    unlink(port.path);
    const Input *input = fixture_probe(fixture, getpid(), port.path);
    assert_int_equal(input->probed.outcome, OUTCOME_NO_SOCKET);
    input = fixture_probe(fixture, getpid(), "");
    assert_int_equal(input->probed.outcome, OUTCOME_NO_SOCKET);
    assert_string_equal(input->probed.facts->socket_path, port.path);
    fake_port_done(&port);
}

static void test_stopped(void **state) {
    Fixture *fixture = *state;
    char path[SOCKET_PATH_SIZE];
    fixture_path(fixture, NAME, path);
    pid_t child = child_listening(path);
    assert_int_equal(kill(child, SIGSTOP), 0);
    int status;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);

    const Input *input = fixture_probe(fixture, child, "");
    assert_int_equal(input->probed.outcome, OUTCOME_TIMEOUT);
    assert_detail(input, "ProcessInfo3");
    assert_detail(input, "stopped");
    assert_string_equal(input->probed.facts->socket_path, path);
    end_child(child);
}

static void test_ends_meanwhile(void **state) {
    Fixture *fixture = *state;
    char path[SOCKET_PATH_SIZE];
    fixture_path(fixture, NAME, path);
    pid_t child = child_listening(path);
    ProcessKey key = key_of(child);
    assert_int_equal(
        probe_start(fixture->pool, 1, &(ProbeTarget){.key = key, .uid = 0, .socket_hint = path}),
        0);
    fixture_turn(fixture);
    assert_int_equal(probe_counters(fixture->pool)->in_flight, 1);
    kill(child, SIGKILL);
    fixture_wait(fixture, 1); // while it is a zombie
    assert_int_equal(fixture->results[0].probed.outcome, OUTCOME_VANISHED);

    assert_int_equal(
        probe_start(fixture->pool, 2, &(ProbeTarget){.key = key, .uid = 0, .socket_hint = path}),
        0);
    fixture_wait(fixture, 2);
    assert_int_equal(fixture->results[1].probed.outcome, OUTCOME_VANISHED);
    end_child(child);
    assert_int_equal(
        probe_start(fixture->pool, 3, &(ProbeTarget){.key = key, .uid = 0, .socket_hint = path}),
        0);
    fixture_wait(fixture, 3);
    assert_int_equal(fixture->results[2].probed.outcome, OUTCOME_VANISHED);
    assert_null(fixture->results[2].probed.facts);
}

static void test_another_life(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    ProcessKey key = key_of(getpid());
    key.start_ticks--;
    assert_int_equal(probe_start(fixture->pool, 1,
                                 &(ProbeTarget){.key = key, .uid = 0, .socket_hint = port.path}),
                     0);
    fixture_wait(fixture, 1);
    assert_int_equal(fixture->results[0].probed.outcome, OUTCOME_VANISHED);
    assert_int_equal(port.connections_count, 0);
    fake_port_done(&port);
}

// Whatever life the pid has, and what only the maps tell.
static void test_any_life(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    int file = memfd_create(DISCOVERY_MAPPING_NAME, MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, 4096), 0);
    ProbeTarget target = {
        .key = {.pid = getpid(), .start_ticks = START_TICKS_UNKNOWN},
        .socket_hint = port.path,
        .wants_protection = true,
    };
    static const int protections[] = {PROTECTION_UNKNOWN, PROT_READ | PROT_WRITE, PROT_NONE};
    for (size_t i = 0; i < ELEMENTS_OF(protections); i++) {
        void *mapping = MAP_FAILED;
        if (protections[i] != PROTECTION_UNKNOWN) {
            mapping = mmap(NULL, 4096, protections[i], MAP_PRIVATE, file, 0);
            assert_ptr_not_equal(mapping, MAP_FAILED);
        }
        assert_int_equal(probe_start(fixture->pool, i, &target), 0);
        fixture_wait(fixture, i + 1);
        assert_int_equal(fixture->results[i].probed.outcome, OUTCOME_ANSWERED);
        assert_int_equal(fixture->results[i].probed.facts->protection, protections[i]);
        if (mapping != MAP_FAILED)
            munmap(mapping, 4096);
    }
    close(file);
    fake_port_done(&port);
}

static void test_full_backlog(void **state) {
    Fixture *fixture = *state;
    char path[SOCKET_PATH_SIZE];
    fixture_path(fixture, NAME, path);
    int listener = listen_at(path);
    assert_int_equal(listen(listener, 0), 0);
    int first = connect_to(path); // takes the only place
    const Input *input = fixture_probe(fixture, getpid(), path);
    assert_int_equal(input->probed.outcome, OUTCOME_TIMEOUT);
    assert_detail(input, "EAGAIN");
    close(first);
    close(listener);
}

static void test_no_descriptors(void **state) {
    Fixture *fixture = *state;
    FakePort port;
    fake_port_init(fixture, &port, NAME, &fake_version3, 1);
    fixture_probe(fixture, getpid(), port.path); // the loop has its own descriptors now

    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    ProcessKey key = key_of(getpid());
    // Each number of descriptors that does not do, then one that does.
    for (rlim_t more = 0;; more++) {
        int lowest = dup(0);
        assert_true(lowest >= 0);
        close(lowest);
        none = (struct rlimit){.rlim_cur = (rlim_t)lowest + more, .rlim_max = before.rlim_max};
        size_t results = fixture->results_count;
        // The port needs its own for the connection: it accepts only when the look is long done,
        // which is so when a failure came, or when none comes any more.
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_int_equal(
            probe_start(fixture->pool, 100 + more,
                        &(ProbeTarget){.key = key, .uid = 0, .socket_hint = port.path}),
            0);
        assert_true(sd_event_source_set_enabled(port.accepting, SD_EVENT_OFF) >= 0);
        uint64_t end = instant_now().boottime_us + 100 * USEC_PER_MSEC;
        while (fixture->results_count == results && instant_now().boottime_us < end)
            assert_true(sd_event_run(fixture->event, 10 * USEC_PER_MSEC) >= 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(sd_event_source_set_enabled(port.accepting, SD_EVENT_ON) >= 0);
        fixture_wait(fixture, results + 1);
        const Input *input = &fixture->results[results];
        if (input->probed.outcome == OUTCOME_ANSWERED)
            break;
        assert_int_equal(input->probed.outcome, OUTCOME_NOT_TRIED);
        assert_detail(input, "EMFILE");
        assert_null(input->probed.facts);
        assert_true(more < 16);
    }
    assert_true(fixture->results_count > 3);
    fake_port_done(&port);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answer, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_torn_answer, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_fall_back, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_not_the_protocol, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_found_without_hint, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_found_among_many, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_found_under_another_name, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_stale_hints, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_deleted, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_stopped, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_ends_meanwhile, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_another_life, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_any_life, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_full_backlog, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_no_descriptors, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
