// Pids and times as the namespaces of the two sides show them: the target may be in a nested pid
// namespace, and so may the daemon, which may have a time namespace besides.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "discovery_names.h"
#include "harness.h"

static const bool without_iterator[PROGRAM_COUNT_] = {[PROGRAM_SCAN] = true};

static void listen_and_map(__attribute__((unused)) int control, const void *folder) {
    char path[64];
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX "%d-2-socket", (const char *)folder,
             getpid());
    listen_at(path);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

static void run_nested(int control, const void *folder) {
    MUST(unshare(CLONE_NEWPID) == 0);
    Child child = child_start(listen_and_map, folder);
    child_pause(control);
    child_tell(control, child.pid);
}

static void test_target_in_namespace(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    Child outer = child_start(run_nested, folder);
    child_let_go(&outer);
    pid_t pid = child_number(&outer);
    harness_await_mapping(harness, pid);
    assert_int_equal(harness_signal(harness, SIGNAL_MAPPING, pid)->namespace_pid, 1);
    assert_int_equal(harness_signal(harness, SIGNAL_LISTEN, pid)->namespace_pid, 1);
    assert_int_equal(source_scan(harness->source), 0);
    assert_int_equal(harness_signals(harness, SIGNAL_SCAN, pid), 1);
    assert_int_equal(harness_signal(harness, SIGNAL_SCAN, pid)->namespace_pid, 1);

    Harness by_proc;
    harness_init(&by_proc, without_iterator);
    assert_int_equal(source_scan(by_proc.source), 0);
    assert_int_equal(harness_signals(&by_proc, SIGNAL_SCAN, pid), 1);
    assert_int_equal(harness_signal(&by_proc, SIGNAL_SCAN, pid)->namespace_pid, 1);
    harness_done(&by_proc);
    child_end(&outer);
    remove_folder(folder);
}

// Runs `body` as the first process of new namespaces with a /proc of its own; it ends by MUST().
static void run_inside(int namespaces, void (*body)(Child *outside, const char *folder),
                       Child *outside, const char *folder) {
    pid_t outer = fork();
    MUST(outer >= 0);
    if (outer == 0) {
        MUST(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        MUST(unshare(CLONE_NEWPID | CLONE_NEWNS | namespaces) == 0);
        if (namespaces & CLONE_NEWTIME) {
            static const char offset[] = "boottime 86400 500000000\n";
            int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
            MUST(write(fd, offset, sizeof offset - 1) == sizeof offset - 1);
            close(fd);
        }
        pid_t inner = fork();
        if (inner == 0) {
            MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
            MUST(mount("proc", "/proc", "proc", 0, NULL) == 0);
            body(outside, folder);
            _exit(0);
        }
        int status;
        MUST(waitpid(inner, &status, 0) == inner);
        _exit(WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1);
    }
    int status;
    MUST(waitpid(outer, &status, 0) == outer);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void begin_again(int control, const void *folder) {
    listen_and_map(control, folder);
    child_pause(control);
    char path[64];
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX "%d-3-socket", (const char *)folder,
             getpid());
    listen_at(path);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

static void check_signal(Harness *harness, SignalKind kind, pid_t pid, int protection) {
    MUST(harness_signals(harness, kind, pid) == 1);
    const Signal *signal = harness_signal(harness, kind, pid);
    MUST(signal->namespace_pid == pid);
    MUST(signal->key.start_ticks == start_ticks_of(pid));
    MUST(signal->protection == protection);
    uint64_t now_us = instant_now().boottime_us;
    MUST(signal->seen.boottime_us <= now_us);
    MUST(signal->seen.boottime_us > now_us - 5 * USEC_PER_SEC);
}

// A process outside is nobody that this daemon could follow: no record, no candidate.
static void source_inside(Child *outside, const char *folder) {
    Harness harness, by_proc;
    harness_init(&harness, NULL);
    MUST(source_programs(harness.source)[PROGRAM_MAPPING].attached);
    child_go(outside);
    Child child = child_start(listen_and_map, folder);
    MUST(child.pid < 10);
    harness_await_mapping(&harness, child.pid);
    check_signal(&harness, SIGNAL_LISTEN, child.pid, PROTECTION_UNKNOWN);
    check_signal(&harness, SIGNAL_MAPPING, child.pid, PROT_NONE);
    MUST(harness.count == 2);

    MUST(source_scan(harness.source) == 0);
    check_signal(&harness, SIGNAL_SCAN, child.pid, PROTECTION_UNKNOWN);
    MUST(harness.count == 3);
    const ProcessKey key = harness_signal(&harness, SIGNAL_SCAN, child.pid)->key;
    MUST(source_follow(harness.source, 1, &key) == FOLLOW_OK);
    harness_done(&harness);

    harness_init(&by_proc, without_iterator);
    MUST(source_scan(by_proc.source) == 0);
    check_signal(&by_proc, SIGNAL_SCAN, child.pid, PROTECTION_UNKNOWN);
    MUST(by_proc.count == 1);
    harness_done(&by_proc);
    child_end(&child);
}

static void check_source_inside(int namespaces) {
    char folder[32], folder_outside[32];
    make_folder(folder);
    make_folder(folder_outside);
    Child outside = child_start(begin_again, folder_outside);
    run_inside(namespaces, source_inside, &outside, folder);
    child_end(&outside);
    remove_folder(folder);
    remove_folder(folder_outside);
}

static void test_source_in_pid_namespace(__attribute__((unused)) void **state) {
    check_source_inside(0);
}

static void test_source_in_time_namespace(__attribute__((unused)) void **state) {
    if (access("/proc/self/timens_offsets", F_OK) < 0) {
        print_message("Skipped: the kernel has no time namespaces.\n");
        skip();
    }
    check_source_inside(CLONE_NEWTIME);
}

int main(void) {
    harness_skip_unless_privileged();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target_in_namespace),
        cmocka_unit_test(test_source_in_pid_namespace),
        cmocka_unit_test(test_source_in_time_namespace),
    };
    return cmocka_run_group_tests(tests, harness_setup, harness_teardown);
}
