// Each program of the kernel side can be missing, by request, by the machine's state or for lack of
// privileges: that is told in words, and the rest works.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "discovery_names.h"
#include "harness.h"
#include "mapper.h"

static void listen_and_map(__attribute__((unused)) int control, const void *folder) {
    char path[64];
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX "1-2-socket", (const char *)folder);
    listen_at(path);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

// Each program can be missing; the others work, and what is missing is told.
static void check_without(ProgramId missing) {
    bool without[PROGRAM_COUNT_] = {false};
    without[missing] = true;
    Harness harness;
    harness_init(&harness, without);
    const Program *programs = source_programs(harness.source);
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++) {
        assert_int_equal(programs[id].attached, id != missing);
        assert_int_equal(programs[id].detail != NULL, id == missing);
    }
    assert_non_null(strstr(programs[missing].detail, "left out on request"));

    char folder[32];
    make_folder(folder);
    Child runtime = child_start(listen_and_map, folder),
          child = child_start(mapper_map_and_execute, NULL);
    assert_int_equal(source_scan(harness.source), 0);
    assert_int_equal(harness_signals(&harness, SIGNAL_SCAN, runtime.pid), 1);
    size_t mappings = missing != PROGRAM_MAPPING;
    assert_int_equal(harness_signals(&harness, SIGNAL_MAPPING, runtime.pid), mappings);
    child_go(&child);
    if (missing != PROGRAM_MAPPING)
        harness_run(&harness, harness_has_two_mappings, &child.pid);
    size_t listens = missing != PROGRAM_LISTEN;
    assert_int_equal(harness_signals(&harness, SIGNAL_LISTEN, runtime.pid), listens);
    size_t execs = missing == PROGRAM_SCAN || missing == PROGRAM_LISTEN;
    assert_int_equal(harness_execs(&harness, child.pid), execs);
    child_end(&child);
    child_end(&runtime);
    remove_folder(folder);
    harness_done(&harness);
}

static void test_without_mapping(__attribute__((unused)) void **state) {
    check_without(PROGRAM_MAPPING);
}

static void test_without_listen(__attribute__((unused)) void **state) {
    check_without(PROGRAM_LISTEN);
}

static void test_without_exec(__attribute__((unused)) void **state) {
    check_without(PROGRAM_EXEC);
}

static void test_without_scan(__attribute__((unused)) void **state) {
    check_without(PROGRAM_SCAN);
}

// With no kernel side at all there is still the scan of /proc, and following.
static void test_without_all(__attribute__((unused)) void **state) {
    const bool without[PROGRAM_COUNT_] = {true, true, true, true};
    Harness harness;
    harness_init(&harness, without);
    char folder[32];
    make_folder(folder);
    Child runtime = child_start(listen_and_map, folder);
    assert_int_equal(source_scan(harness.source), 0);
    const Signal *signal = harness_signal(&harness, SIGNAL_SCAN, runtime.pid);
    const uint64_t serial = 1;
    assert_int_equal(source_follow(harness.source, serial, &signal->key), FOLLOW_OK);
    child_end(&runtime);
    harness_run(&harness, harness_has_exit, &serial);
    remove_folder(folder);
    harness_done(&harness);
}

// Runs `body` in a process of its own, which ends by MUST() where something is not so.
static void run_apart(void (*body)(const char *folder), const char *folder) {
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        body(folder);
        _exit(0);
    }
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void check_scan(Harness *harness, const char *folder) {
    Child runtime = child_start(listen_and_map, folder);
    MUST(source_scan(harness->source) == 0);
    MUST(harness_signals(harness, SIGNAL_SCAN, runtime.pid) == 1);
    child_end(&runtime);
}

static void run_without_privileges(const char *folder) {
    MUST(chown(folder, 65534, 65534) == 0);
    MUST(setresgid(65534, 65534, 65534) == 0);
    MUST(setresuid(65534, 65534, 65534) == 0);
    // Changing ids took /proc/PID/fd away from this process and its children.
    MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
    Harness harness;
    harness_init(&harness, NULL);
    const Program *programs = source_programs(harness.source);
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++)
        MUST(!programs[id].attached && programs[id].detail);
    MUST(strstr(programs[PROGRAM_EXEC].detail, "run as root") != NULL);
    MUST(strstr(programs[PROGRAM_SCAN].detail, "run as root") != NULL);
    check_scan(&harness, folder);
    harness_done(&harness);
}

static void test_without_privileges(__attribute__((unused)) void **state) {
    char folder[32];
    make_folder(folder);
    run_apart(run_without_privileges, folder);
    remove_folder(folder);
}

int main(int argc, char *argv[]) {
    if (mapper_main(argc, argv))
        return 0;
    harness_skip_unless_privileged();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_mapping), cmocka_unit_test(test_without_listen),
        cmocka_unit_test(test_without_exec),    cmocka_unit_test(test_without_scan),
        cmocka_unit_test(test_without_all),     cmocka_unit_test(test_without_privileges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
