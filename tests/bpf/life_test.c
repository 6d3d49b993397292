// Where a life ends: execve, exit, and what is lost between.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <pthread.h>
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

#include "bounds.h"
#include "discovery_names.h"
#include "discovery_record.h"
#include "harness.h"
#include "mapper.h"

static void *execute_in_thread(void *control) {
    mapper_execute(*(int *)control);
    return NULL;
}

static void map_and_execute_from_thread(int control, const void *argument) {
    mapper_map(control, argument);
    child_pause(control);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, execute_in_thread, &control) == 0);
    pthread_join(thread, NULL);
    MUST(false);
}

// Pid and start time stay, the exec count tells the two lives apart, the end of the first comes
// before the signal of the second.
static void check_exec(Harness *harness, ChildBody body) {
    Child child = child_start(body, NULL);
    harness_await_mapping(harness, child.pid);
    const ProcessKey first = harness_signal(harness, SIGNAL_MAPPING, child.pid)->key;
    child_go(&child);
    harness_run(harness, harness_has_two_mappings, &child.pid);

    assert_int_equal(harness_execs(harness, child.pid), 1);
    const ProcessKey ended = *harness_exec(harness, child.pid);
    const ProcessKey second = harness_signal(harness, SIGNAL_MAPPING, child.pid)->key;
    assert_int_equal(ended.start_ticks, first.start_ticks);
    assert_int_equal(second.start_ticks, first.start_ticks);
    assert_int_equal(ended.exec_count, first.exec_count + 1);
    assert_int_equal(second.exec_count, first.exec_count + 1);
    for (size_t i = 0; i < harness->count; i++) {
        const Input *input = &harness->inputs[i];
        if (input->kind == INPUT_EXEC && input->exec.pid == child.pid)
            break;
        assert_false(input->kind == INPUT_SIGNAL && input->signal.key.pid == child.pid &&
                     input->signal.key.exec_count == second.exec_count);
    }
    child_end(&child);
}

static void test_exec(void **state) {
    check_exec(*state, mapper_map_and_execute);
}

static void test_exec_from_thread(void **state) {
    check_exec(*state, map_and_execute_from_thread);
}

// Nobody hears of programs executed by processes that are not followed, or no longer.
static void test_exec_of_forgotten(void **state) {
    Harness *harness = *state;
    Child child = child_start(mapper_map_and_execute, NULL);
    harness_await_mapping(harness, child.pid);
    source_disregard(harness->source, child.pid);
    child_go(&child);
    harness_run(harness, harness_has_two_mappings, &child.pid);
    assert_int_equal(harness_execs(harness, child.pid), 0);
    child_end(&child);
}

// Following enters what was forgotten; unfollowing an earlier life leaves a later one alone.
static void test_follow_remembers(void **state) {
    Harness *harness = *state;
    Child child = child_start(mapper_map_and_execute, NULL);
    harness_await_mapping(harness, child.pid);
    const ProcessKey key = harness_signal(harness, SIGNAL_MAPPING, child.pid)->key;
    ProcessKey earlier = key;
    earlier.exec_count--;
    source_disregard(harness->source, child.pid);
    assert_int_equal(source_follow(harness->source, 1, &key), FOLLOW_OK);
    source_unfollow(harness->source, 2, &earlier);
    child_go(&child);
    harness_run(harness, harness_has_two_mappings, &child.pid);
    assert_int_equal(harness_execs(harness, child.pid), 1);
    source_unfollow(harness->source, 1, &key);
    child_end(&child);
}

static void test_exit(void **state) {
    Harness *harness = *state;
    Child child = child_start(mapper_map, NULL), other = child_start(mapper_map, NULL);
    harness_await_mapping(harness, child.pid);
    harness_await_mapping(harness, other.pid);
    const ProcessKey key = harness_signal(harness, SIGNAL_MAPPING, child.pid)->key;
    const ProcessKey other_key = harness_signal(harness, SIGNAL_MAPPING, other.pid)->key;
    const uint64_t serial = 11, other_serial = 12;
    assert_int_equal(source_follow(harness->source, serial, &key), FOLLOW_OK);
    assert_int_equal(source_follow(harness->source, other_serial, &other_key), FOLLOW_OK);
    source_unfollow(harness->source, other_serial, &other_key);

    child_end(&other);
    child_end(&child);
    harness_run(harness, harness_has_exit, &serial);
    harness_fence(harness);
    assert_int_equal(harness_exits(harness, serial), 1);
    assert_int_equal(harness_exits(harness, other_serial), 0);
    source_unfollow(harness->source, serial, &key);
    source_unfollow(harness->source, serial, &key);
}

// Whose life the pid's is nobody asks here; once nobody has it there is nothing to follow.
static void test_follow_of_another(void **state) {
    Harness *harness = *state;
    Child child = child_start(mapper_map, NULL);
    ProcessKey key = {
        .pid = child.pid,
        .start_ticks = start_ticks_of(child.pid) - 1,
        .exec_count = EXEC_COUNT_UNKNOWN,
    };
    assert_int_equal(source_follow(harness->source, 21, &key), FOLLOW_OK);
    child_end(&child);
    assert_int_equal(source_follow(harness->source, 22, &key), FOLLOW_GONE);
    source_unfollow(harness->source, 21, &key);
}

static void map_storm(__attribute__((unused)) int control,
                      __attribute__((unused)) const void *argument) {
    int fd = make_memfd(DISCOVERY_MAPPING_NAME);
    for (size_t i = 0; i < BOUND_RING_BYTES / sizeof(struct discovery_record); i++)
        map_fd(fd, PROT_NONE);
}

static void listen_and_map(__attribute__((unused)) int control, const void *folder) {
    char path[64];
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX "1-2-socket", (const char *)folder);
    listen_at(path);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

typedef struct Lost {
    pid_t mapper;
    pid_t executor;
} Lost;

static bool is_healed(const Harness *harness, const void *argument) {
    const Lost *lost = argument;
    return harness_signals(harness, SIGNAL_SCAN, lost->mapper) > 0 &&
           harness_execs(harness, lost->executor) > 0;
}

// With the ring buffer full a mapping and an execve go unheard. The loss is counted, and the rescan
// that follows by itself finds both.
static void test_storm(__attribute__((unused)) void **state) {
    Harness harness;
    harness_init(&harness, NULL);
    char folder[32];
    make_folder(folder);
    Child executor = child_start(mapper_map_and_execute, NULL);
    harness_await_mapping(&harness, executor.pid);
    const uint64_t exec_count =
        harness_signal(&harness, SIGNAL_MAPPING, executor.pid)->key.exec_count;
    const size_t before = harness.count;

    Child storm = child_start(map_storm, NULL);
    Child mapper = child_start(listen_and_map, folder);
    child_go(&executor);

    // A turn of the loop takes what it may and no more.
    MUST(sd_event_run(harness.event, 0) > 0);
    assert_in_range(harness.count - before, 1, BOUND_RING_RECORDS);
    const Lost lost = {.mapper = mapper.pid, .executor = executor.pid};
    harness_run(&harness, is_healed, &lost);

    const SourceCounters *counters = source_counters(harness.source);
    assert_true(counters->records_lost >= 3);
    assert_true(counters->rescans >= 1);
    assert_int_equal(counters->records_bad, 0);
    assert_int_equal(harness_signals(&harness, SIGNAL_MAPPING, mapper.pid), 0);
    assert_int_equal(harness_execs(&harness, executor.pid), 1);
    assert_int_equal(harness_exec(&harness, executor.pid)->exec_count, exec_count + 1);
    child_end(&executor);
    child_end(&storm);
    child_end(&mapper);
    remove_folder(folder);
    harness_done(&harness);
}

int main(int argc, char *argv[]) {
    if (mapper_main(argc, argv))
        return 0;
    harness_skip_unless_privileged();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_exec_from_thread),
        cmocka_unit_test(test_exec_of_forgotten),
        cmocka_unit_test(test_follow_remembers),
        cmocka_unit_test(test_exit),
        cmocka_unit_test(test_follow_of_another),
        cmocka_unit_test(test_storm),
    };
    return cmocka_run_group_tests(tests, harness_setup, harness_teardown);
}
