// What perf tells of without any kernel program (this runs where bpf(2) is taken away): mappings,
// with the pid and the moment of each, and execve of what is followed, in whatever order the rings
// of two CPUs are read.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "discovery_names.h"
#include "harness.h"

enum { STORM = 5000, SERIAL = 1 };

static char folder[32]; // of the children's sockets, by which a scan finds them

static void pin(size_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    MUST(sched_setaffinity(0, sizeof set, &set) == 0);
}

static bool has_two_cpus(void) {
    cpu_set_t set;
    MUST(sched_getaffinity(0, sizeof set, &set) == 0);
    return CPU_ISSET(0, &set) && CPU_ISSET(1, &set);
}

static void listen_and_map(int protection) {
    char path[64];
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX "%d-1-socket", folder, getpid());
    unlink(path); // of the program before
    listen_at(path);
    map_named(DISCOVERY_MAPPING_NAME, protection);
}

// A mapping of no interest.
static void map_other(void) {
    void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(page != MAP_FAILED);
    munmap(page, 1);
}

static void execute_other(int control) {
    char number[16];
    snprintf(number, sizeof number, "%d", control);
    MUST(fcntl(control, F_SETFD, 0) == 0);
    execl("/proc/self/exe", "other", number, folder, (char *)NULL);
    MUST(false);
}

// First in main(): the program that was executed maps on the other CPU, and pauses.
static bool is_other(int argc, char *argv[]) {
    if (argc != 3)
        return false;
    snprintf(folder, sizeof folder, "%s", argv[2]);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
    listen_and_map(PROT_READ);
    child_pause(atoi(argv[1]));
    return true;
}

static void map_and_execute(int control, __attribute__((unused)) const void *argument) {
    listen_and_map(PROT_NONE);
    child_pause(control);
    if (has_two_cpus())
        pin(1);
    execute_other(control);
}

static void map_named_as(__attribute__((unused)) int control, const void *protection) {
    listen_and_map(*(const int *)protection);
}

// However long a scan takes where there are many processes.
static uint64_t scan_deadline_us(const Harness *harness) {
    return instant_now().boottime_us + source_scan_interval_us(harness->source) + 60 * USEC_PER_SEC;
}

static void run_before(Harness *harness, uint64_t deadline_us) {
    MUST(instant_now().boottime_us < deadline_us);
    MUST(sd_event_run(harness->event, 100 * USEC_PER_MSEC) >= 0);
}

static void await_rescan(Harness *harness, uint64_t count) {
    const uint64_t deadline_us = scan_deadline_us(harness);
    while (source_counters(harness->source)->rescans < count)
        run_before(harness, deadline_us);
}

static void await_scan_of(Harness *harness, pid_t pid) {
    const size_t known = harness_signals(harness, SIGNAL_SCAN, pid);
    const uint64_t deadline_us = scan_deadline_us(harness);
    while (harness_signals(harness, SIGNAL_SCAN, pid) == known)
        run_before(harness, deadline_us);
}

// On a machine that is too busy the rings run over before we get to read them. Then a scan has to
// find the process.
static void run_unless_lost(Harness *harness, HarnessDone done, const pid_t *pid) {
    const uint64_t deadline_us = instant_now().boottime_us + 20 * USEC_PER_SEC;
    while (!done(harness, pid)) {
        if (source_counters(harness->source)->records_lost > 0) {
            await_scan_of(harness, *pid);
            print_message("skipped: this machine is too busy; what was lost a scan found\n");
            skip();
        }
        run_before(harness, deadline_us);
    }
}

static bool has_mapping(const Harness *harness, const void *pid) {
    return harness_signals(harness, SIGNAL_MAPPING, *(const pid_t *)pid) > 0;
}

static void fence(Harness *harness) {
    Child child = child_start(map_named_as, &(int){PROT_NONE});
    run_unless_lost(harness, has_mapping, &child.pid);
    child_end(&child);
}

static void run_until_idle(Harness *harness) {
    int r;
    while ((r = sd_event_run(harness->event, 0)) > 0)
        ;
    assert_int_equal(r, 0);
}

static void test_mapping(void **state) {
    Harness *harness = *state;
    static const int protections[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_EXEC};
    for (size_t i = 0; i < sizeof protections / sizeof *protections; i++) {
        Instant before = instant_now();
        Child child = child_start(map_named_as, &protections[i]);
        Instant after = instant_now();
        run_unless_lost(harness, has_mapping, &child.pid);
        const Signal *signal = harness_signal(harness, SIGNAL_MAPPING, child.pid);
        assert_int_equal(signal->key.start_ticks, start_ticks_of(child.pid));
        assert_true(signal->key.exec_count == EXEC_COUNT_UNKNOWN);
        assert_int_equal(signal->namespace_pid, child.pid);
        assert_int_equal(signal->uid, geteuid());
        assert_int_equal(signal->protection, protections[i]);
        assert_string_equal(signal->command, "perf_bpf_test");
        assert_true(signal->seen.boottime_us >= before.boottime_us);
        assert_true(signal->seen.boottime_us <= after.boottime_us);
        child_end(&child);
    }
}

static void map_as_the_self_test(__attribute__((unused)) int control,
                                 __attribute__((unused)) const void *argument) {
    map_named(DISCOVERY_TESTING_NAME, PROT_NONE);
}

static void test_other_names(void **state) {
    Harness *harness = *state;
    Child child = child_start(map_as_the_self_test, NULL);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
    fence(harness);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid), 0);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, getpid()), 0);
    child_end(&child);
}

// More than a ring holds, read on in turns.
static void test_storm(void **state) {
    Harness *harness = *state;
    for (int i = 0; i < STORM; i++) {
        map_other();
        if (i % 100 == 0)
            run_until_idle(harness);
    }
    fence(harness);
    assert_int_equal(source_counters(harness->source)->records_bad, 0);
}

static bool has_exec(const Harness *harness, const void *pid) {
    return harness_execs(harness, *(const pid_t *)pid) > 0;
}

static size_t index_of(const Harness *harness, InputKind kind, pid_t pid, size_t from) {
    for (size_t i = from; i < harness->count; i++) {
        const Input *input = &harness->inputs[i];
        if (input->kind != kind)
            continue;
        if (kind == INPUT_EXEC
                ? input->exec.pid == pid
                : input->signal.kind == SIGNAL_MAPPING && input->signal.key.pid == pid)
            return i;
    }
    return SIZE_MAX;
}

// The program that is executed maps on another CPU, whose ring may be read first.
static void test_execve(void **state) {
    Harness *harness = *state;
    Child child = child_start(map_and_execute, NULL);
    run_unless_lost(harness, has_mapping, &child.pid);
    size_t first = index_of(harness, INPUT_SIGNAL, child.pid, 0);
    ProcessKey key = harness->inputs[first].signal.key;
    assert_int_equal(source_follow(harness->source, SERIAL, &key), FOLLOW_OK);
    run_until_idle(harness);
    uint64_t rescans = source_counters(harness->source)->rescans;

    if (has_two_cpus()) {
        cpu_set_t all;
        MUST(sched_getaffinity(0, sizeof all, &all) == 0);
        pin(0);
        map_other();
        MUST(sched_setaffinity(0, sizeof all, &all) == 0);
    }
    child_go(&child); // the program executed has mapped
    run_unless_lost(harness, has_exec, &child.pid);
    run_unless_lost(harness, harness_has_two_mappings, &child.pid);
    assert_int_equal(harness_execs(harness, child.pid), 1);
    const ProcessKey *told = harness_exec(harness, child.pid);
    assert_int_equal(told->start_ticks, key.start_ticks);
    assert_true(told->exec_count == EXEC_COUNT_UNKNOWN);
    // Its second life is told of after the end of the first, or a scan finds it.
    size_t end = index_of(harness, INPUT_EXEC, child.pid, 0);
    if (index_of(harness, INPUT_SIGNAL, child.pid, first + 1) < end)
        await_rescan(harness, rescans + 1);
    source_unfollow(harness->source, SERIAL, &key);
    child_end(&child);
}

static void execute_first(int control, __attribute__((unused)) const void *argument) {
    execute_other(control);
}

// Followed since its mapping, which came after the execve: that is not its end, however late it is
// read.
static void test_execve_before(void **state) {
    Harness *harness = *state;
    run_until_idle(harness);
    Child child = child_start(execute_first, NULL);
    run_unless_lost(harness, has_mapping, &child.pid);
    const ProcessKey key = harness_signal(harness, SIGNAL_MAPPING, child.pid)->key;
    assert_int_equal(source_follow(harness->source, SERIAL, &key), FOLLOW_OK);
    fence(harness);
    assert_int_equal(harness_execs(harness, child.pid), 0);
    source_unfollow(harness->source, SERIAL, &key);
    child_end(&child);
}

// Nobody asked for it: the execve of a process that is not followed, or no more.
static void test_execve_of_others(void **state) {
    Harness *harness = *state;
    Child child = child_start(map_and_execute, NULL);
    run_unless_lost(harness, has_mapping, &child.pid);
    const ProcessKey key = harness_signal(harness, SIGNAL_MAPPING, child.pid)->key;
    assert_int_equal(source_follow(harness->source, SERIAL, &key), FOLLOW_OK);
    source_unfollow(harness->source, SERIAL, &key);
    child_go(&child);
    run_unless_lost(harness, harness_has_two_mappings, &child.pid);
    fence(harness);
    assert_int_equal(harness_execs(harness, child.pid), 0);
    child_end(&child);
}

// Nobody asks for these.
static void test_scans_follow_by_themselves(void **state) {
    Harness *harness = *state;
    assert_int_equal(source_scan(harness->source), 0);
    await_rescan(harness, source_counters(harness->source)->rescans + 1);
    assert_in_range(source_scan_interval_us(harness->source), USEC_PER_SEC, 60 * USEC_PER_SEC);
}

static void skip_unless_perf(void) {
    Harness harness;
    harness_init_by(&harness, MECHANISM_PERF, NULL);
    const Mechanism *perf = &source_mechanisms(harness.source)[MECHANISM_PERF];
    if (!perf->used) {
        bool withheld = harness_is_withheld(perf);
        printf("%s: %s.\n", withheld ? "Skipped" : "Failed", perf->detail);
        exit(withheld ? 77 : EXIT_FAILURE);
    }
    harness_done(&harness);
}

static int setup(void **state) {
    Harness *harness = malloc(sizeof *harness);
    MUST(harness != NULL);
    harness_init_by(harness, MECHANISM_PERF, NULL);
    *state = harness;
    return 0;
}

int main(int argc, char *argv[]) {
    if (is_other(argc, argv))
        return 0;
    skip_unless_perf();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_mapping, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_other_names, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_storm, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_execve, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_execve_before, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_execve_of_others, setup, harness_teardown),
        cmocka_unit_test_setup_teardown(test_scans_follow_by_themselves, setup, harness_teardown),
    };
    make_folder(folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_folder(folder);
    return failed;
}
