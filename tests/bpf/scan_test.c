// What runs already, found by its listening socket: through the kernel's iterator and, without it,
// through /proc. And the walk over one process's descriptors, whose result a mapping record
// carries.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "discovery_names.h"
#include "harness.h"
#include "macro.h"

enum { LONGEST = SOCKET_PATH_SIZE - 1 };

static const bool without_nothing[PROGRAM_COUNT_] = {false};
static const bool without_iterator[PROGRAM_COUNT_] = {[PROGRAM_SCAN] = true};

static int listen_in(const void *folder, const char *name) {
    char path[LONGEST + 1];
    MUST((size_t)snprintf(path, sizeof path, "%s/%s", (const char *)folder, name) < sizeof path);
    return listen_at(path);
}

static int listen_as_runtime(const void *folder) {
    char name[64];
    snprintf(name, sizeof name, DISCOVERY_SOCKET_PREFIX "%d-1-socket", getpid());
    return listen_in(folder, name);
}

static void run_runtime(__attribute__((unused)) int control, const void *folder) {
    listen_as_runtime(folder);
    map_named(DISCOVERY_MAPPING_NAME, PROT_READ | PROT_EXEC);
}

static void run_without_mapping(__attribute__((unused)) int control, const void *folder) {
    listen_as_runtime(folder);
}

static void run_cut(__attribute__((unused)) int control, const void *folder) {
    listen_in(folder, DISCOVERY_SOCKET_PREFIX_CUT);
}

// The longest path that can be bound, which leaves no room for a NUL, and a relative one.
static void run_longest(__attribute__((unused)) int control, const void *folder) {
    MUST(chdir(folder) == 0);
    char path[LONGEST + 1];
    const char *name = DISCOVERY_SOCKET_PREFIX_CUT "stic-1-2-socket";
    for (size_t i = 0; i < LONGEST; i += 2)
        memcpy(path + i, "./", 2);
    strcpy(path + LONGEST - strlen(name), name);
    listen_at(path);
}

static void run_elsewhere(__attribute__((unused)) int control, const void *folder) {
    MUST(unshare(CLONE_NEWNET) == 0);
    listen_as_runtime(folder);
}

static void bind_only(const void *folder, const char *name, int type, bool listening) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", (const char *)folder, name);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    MUST(fd >= 0);
    MUST(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    MUST(!listening || listen(fd, 1) == 0);
    // A descriptor of the socket's file in the file system is not one of the socket.
    MUST(open(address.sun_path, O_PATH | O_CLOEXEC) >= 0);
}

static void run_others(__attribute__((unused)) int control, const void *folder) {
    listen_in(folder, DISCOVERY_DSROUTER_PREFIX "1-2-socket");
    listen_in(folder, "dotnet-diagn");
    listen_in(folder, "Dotnet-diagnostic-1-2-socket");
    listen_in(folder, "xdotnet-diagnostic-1-2-socket");
    bind_only(folder, "dotnet-diagnostic-1-3-socket", SOCK_STREAM, false);
    bind_only(folder, "dotnet-diagnostic-1-4-socket", SOCK_SEQPACKET, true);
    bind_only(folder, "dotnet-diagnostic-1-5-socket", SOCK_DGRAM, false);
    struct sockaddr_un abstract = {.sun_family = AF_UNIX,
                                   .sun_path = "\0dotnet-diagnostic-1-6-socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(bind(fd, (struct sockaddr *)&abstract, 31) == 0);
    MUST(listen(fd, 1) == 0);
}

// Forked children hold their parent's listening socket too.
static void wait_forever(__attribute__((unused)) int control,
                         __attribute__((unused)) const void *argument) {
}

static void run_parent(int control, const void *folder) {
    listen_as_runtime(folder);
    Child inheritor = child_start(wait_forever, NULL);
    child_pause(control);
    child_tell(control, inheritor.pid);
}

static const struct {
    ChildBody body;
    bool found;
} targets[] = {
    {run_runtime, true}, {run_without_mapping, true}, {run_cut, true},
    {run_longest, true}, {run_elsewhere, true},       {run_others, false},
};

static void check_target(Harness *harness, size_t index, pid_t pid, const char *folder) {
    assert_int_equal(harness_signals(harness, SIGNAL_SCAN, pid), targets[index].found);
    if (!targets[index].found)
        return;
    const Signal *signal = harness_signal(harness, SIGNAL_SCAN, pid);
    assert_int_equal(signal->protection, PROTECTION_UNKNOWN);
    assert_int_equal(signal->key.start_ticks, start_ticks_of(pid));
    assert_int_equal(signal->namespace_pid, pid);
    assert_int_equal(signal->uid, geteuid());
    assert_int_equal(signal->gid, getegid());
    assert_string_equal(signal->command, "scan_bpf_test");
    if (targets[index].body == run_longest)
        assert_int_equal(strlen(signal->socket_path), LONGEST);
    else
        assert_memory_equal(signal->socket_path, folder, strlen(folder));
    assert_non_null(strstr(signal->socket_path, "/" DISCOVERY_SOCKET_PREFIX_CUT));
}

static void check_scan(const bool without[PROGRAM_COUNT_]) {
    char folders[ELEMENTS_OF(targets)][32];
    Child children[ELEMENTS_OF(targets)];
    for (size_t i = 0; i < ELEMENTS_OF(targets); i++) {
        make_folder(folders[i]);
        children[i] = child_start(targets[i].body, folders[i]);
    }
    Harness harness;
    harness_init(&harness, without);
    assert_int_equal(source_scan(harness.source), 0);
    assert_int_equal(source_counters(harness.source)->scan_failures, 0);
    assert_int_equal(source_counters(harness.source)->records_bad, 0);
    for (size_t i = 0; i < ELEMENTS_OF(targets); i++) {
        check_target(&harness, i, children[i].pid, folders[i]);
        bool known = without[PROGRAM_SCAN] == false;
        if (targets[i].found)
            assert_int_equal(
                harness_signal(&harness, SIGNAL_SCAN, children[i].pid)->key.exec_count !=
                    EXEC_COUNT_UNKNOWN,
                known);
    }
    harness_done(&harness);
    for (size_t i = 0; i < ELEMENTS_OF(targets); i++) {
        child_end(&children[i]);
        remove_folder(folders[i]);
    }
}

static void test_scan_by_iterator(__attribute__((unused)) void **state) {
    check_scan(without_nothing);
}

static void test_scan_by_proc(__attribute__((unused)) void **state) {
    check_scan(without_iterator);
}

// Several processes with one listening socket are one candidate: the one that listens.
static void check_inherited(const bool without[PROGRAM_COUNT_]) {
    char folder[32];
    make_folder(folder);
    Child parent = child_start(run_parent, folder);
    child_let_go(&parent);
    pid_t inheritor = child_number(&parent);

    Harness harness;
    harness_init(&harness, without);
    assert_int_equal(source_scan(harness.source), 0);
    assert_int_equal(harness_signals(&harness, SIGNAL_SCAN, parent.pid), 1);
    assert_int_equal(harness_signals(&harness, SIGNAL_SCAN, inheritor), 0);
    harness_done(&harness);
    child_end(&parent);
    remove_folder(folder);
}

static void test_inherited_by_iterator(__attribute__((unused)) void **state) {
    check_inherited(without_nothing);
}

static void test_inherited_by_proc(__attribute__((unused)) void **state) {
    check_inherited(without_iterator);
}

// A cut name first, another one's whole name, then its own: the whole name is the better hint.
static void map_with_sockets(int control, const void *folder) {
    listen_in(folder, DISCOVERY_SOCKET_PREFIX_CUT);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
    child_pause(control);
    listen_as_runtime(folder);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

static bool has_two_mappings(const Harness *harness, const void *pid) {
    return harness_signals(harness, SIGNAL_MAPPING, *(const pid_t *)pid) == 2;
}

static void test_hint(void **state) {
    Harness *harness = *state;
    char folder[32], path[LONGEST + 1];
    make_folder(folder);
    Child child = child_start(map_with_sockets, folder);
    harness_await_mapping(harness, child.pid);
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX_CUT, folder);
    assert_string_equal(harness_signal(harness, SIGNAL_MAPPING, child.pid)->socket_path, path);

    child_go(&child);
    harness_run(harness, has_two_mappings, &child.pid);
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX "%d-1-socket", folder, child.pid);
    assert_string_equal(harness_signal(harness, SIGNAL_MAPPING, child.pid)->socket_path, path);
    child_end(&child);
    remove_folder(folder);
}

static void map_with_many_descriptors(int control, const void *folder) {
    int fd = listen_as_runtime(folder);
    MUST(dup2(fd, 255) == 255);
    close(fd);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
    child_pause(control);
    MUST(dup2(255, 256) == 256);
    close(255);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

// The walk ends after 256 descriptors; beyond them the record comes without a path.
static void test_hint_is_bounded(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    Child child = child_start(map_with_many_descriptors, folder);
    harness_await_mapping(harness, child.pid);
    assert_memory_equal(harness_signal(harness, SIGNAL_MAPPING, child.pid)->socket_path, folder,
                        strlen(folder));
    child_go(&child);
    harness_run(harness, has_two_mappings, &child.pid);
    assert_string_equal(harness_signal(harness, SIGNAL_MAPPING, child.pid)->socket_path, "");
    child_end(&child);
    remove_folder(folder);
}

static void map_in_child(__attribute__((unused)) int control,
                         __attribute__((unused)) const void *argument) {
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

static void run_parent_of_mapper(int control, const void *folder) {
    listen_as_runtime(folder);
    Child mapper = child_start(map_in_child, NULL);
    child_pause(control);
    child_tell(control, mapper.pid);
}

// A child that maps has its parent's socket among its descriptors; it is not its own.
static void test_hint_is_own(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    Child parent = child_start(run_parent_of_mapper, folder);
    child_let_go(&parent);
    pid_t mapper = child_number(&parent);
    harness_await_mapping(harness, mapper);
    assert_string_equal(harness_signal(harness, SIGNAL_MAPPING, mapper)->socket_path, "");
    child_end(&parent);
    remove_folder(folder);
}

static bool has_rescans(const Harness *harness, const void *count) {
    return source_counters(harness->source)->rescans == *(const uint64_t *)count;
}

static bool is_found(const Harness *harness, const void *pid) {
    return harness_signals(harness, SIGNAL_SCAN, *(const pid_t *)pid) > 0;
}

// However often a scan is asked for, one follows, and not within a second of the last.
static void check_rescan(const bool without[PROGRAM_COUNT_]) {
    Harness harness;
    harness_init(&harness, without);
    uint64_t first_us = instant_now().boottime_us;
    assert_int_equal(source_scan(harness.source), 0);

    char folder[32];
    make_folder(folder);
    Child child = child_start(run_without_mapping, folder);
    for (int i = 0; i < 100; i++)
        assert_int_equal(source_rescan(harness.source), 0);
    bool in_time = instant_now().boottime_us - first_us < USEC_PER_SEC;
    if (!in_time) {
        print_message("skipped: this machine is too busy to scan within a second\n");
        harness_done(&harness);
        child_end(&child);
        remove_folder(folder);
        skip();
    }
    assert_int_equal(source_counters(harness.source)->rescans, 0);
    const uint64_t one = 1;
    harness_run(&harness, has_rescans, &one);
    assert_true(instant_now().boottime_us - first_us >= USEC_PER_SEC);
    harness_run(&harness, is_found, &child.pid);
    assert_int_equal(harness_signals(&harness, SIGNAL_SCAN, child.pid), 1);
    assert_int_equal(source_counters(harness.source)->rescans, 1);
    harness_done(&harness);
    child_end(&child);
    remove_folder(folder);
}

static void test_rescan_by_iterator(__attribute__((unused)) void **state) {
    check_rescan(without_nothing);
}

static void test_rescan_by_proc(__attribute__((unused)) void **state) {
    check_rescan(without_iterator);
}

static bool has_recovered(const Harness *harness, __attribute__((unused)) const void *argument) {
    return source_counters(harness->source)->scans_failing == 0;
}

// Without a descriptor to be had no way of scanning works; once there is one, nobody has to ask.
static void check_failure(const bool without[PROGRAM_COUNT_]) {
    char folder[32];
    make_folder(folder);
    Child child = child_start(run_without_mapping, folder);
    Harness harness;
    harness_init(&harness, without);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = source_scan(harness.source);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, 0);
    assert_int_equal(source_counters(harness.source)->scans_failing, 1);
    assert_int_equal(harness_signals(&harness, SIGNAL_SCAN, child.pid), 0);
    assert_int_equal(source_counters(harness.source)->rescans, 0);

    harness_run(&harness, has_recovered, NULL);
    assert_int_equal(harness_signals(&harness, SIGNAL_SCAN, child.pid), 1);
    assert_int_equal(source_counters(harness.source)->rescans, 1);
    harness_done(&harness);
    child_end(&child);
    remove_folder(folder);
}

static void test_failure_by_iterator(__attribute__((unused)) void **state) {
    check_failure(without_nothing);
}

static void test_failure_by_proc(__attribute__((unused)) void **state) {
    check_failure(without_iterator);
}

int main(void) {
    harness_skip_unless_privileged();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_by_iterator),
        cmocka_unit_test(test_scan_by_proc),
        cmocka_unit_test(test_inherited_by_iterator),
        cmocka_unit_test(test_inherited_by_proc),
        cmocka_unit_test(test_hint),
        cmocka_unit_test(test_hint_is_bounded),
        cmocka_unit_test(test_hint_is_own),
        cmocka_unit_test(test_rescan_by_iterator),
        cmocka_unit_test(test_rescan_by_proc),
        cmocka_unit_test(test_failure_by_iterator),
        cmocka_unit_test(test_failure_by_proc),
    };
    return cmocka_run_group_tests(tests, harness_setup, harness_teardown);
}
