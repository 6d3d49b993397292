// Which mappings are told, what is told of them, and that nothing else is.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "discovery_names.h"
#include "harness.h"
#include "macro.h"

#define TMPFS 0x01021994

enum { HUGE = 1 << 30 }; // a multiple of every size that huge pages have

static void map_with(__attribute__((unused)) int control, const void *protection) {
    map_named(DISCOVERY_MAPPING_NAME, *(const int *)protection);
}

// The process is described as /proc has it, whatever the protection.
static void test_protections(void **state) {
    Harness *harness = *state;
    static const int protections[] = {PROT_NONE, PROT_EXEC, PROT_READ | PROT_EXEC};
    for (size_t i = 0; i < ELEMENTS_OF(protections); i++) {
        uint64_t before_us = instant_now().boottime_us;
        Child child = child_start(map_with, &protections[i]);
        uint64_t after_us = instant_now().boottime_us;
        harness_await_mapping(harness, child.pid);

        const Signal *signal = harness_signal(harness, SIGNAL_MAPPING, child.pid);
        assert_int_equal(signal->protection, protections[i]);
        assert_int_equal(signal->key.start_ticks, start_ticks_of(child.pid));
        assert_true(signal->key.exec_count != EXEC_COUNT_UNKNOWN);
        assert_int_equal(signal->namespace_pid, child.pid);
        assert_int_equal(signal->uid, geteuid());
        assert_int_equal(signal->gid, getegid());
        assert_string_equal(signal->command, "mapping_bpf_tes");
        assert_string_equal(signal->socket_path, "");
        assert_in_range(signal->seen.boottime_us, before_us, after_us);
        assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid), 1);
        child_end(&child);
    }
}

static void map_as_nobody(__attribute__((unused)) int control,
                          __attribute__((unused)) const void *argument) {
    MUST(setegid(65533) == 0);
    MUST(seteuid(65534) == 0);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

static void test_effective_ids(void **state) {
    Harness *harness = *state;
    Child child = child_start(map_as_nobody, NULL);
    harness_await_mapping(harness, child.pid);
    const Signal *signal = harness_signal(harness, SIGNAL_MAPPING, child.pid);
    assert_int_equal(signal->uid, 65534);
    assert_int_equal(signal->gid, 65533);
    child_end(&child);
}

// The name stands in a file's page that this process never touched, and that is in no cache.
static void map_untouched(__attribute__((unused)) int control, const void *folder) {
    char path[64];
    snprintf(path, sizeof path, "%s/name", (const char *)folder);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    MUST(file >= 0);
    MUST(write(file, DISCOVERY_MAPPING_NAME, sizeof DISCOVERY_MAPPING_NAME) > 0);
    MUST(fsync(file) == 0);
    MUST(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
    const char *name = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    MUST(name != MAP_FAILED);
    map_named(name, PROT_NONE);
}

static void test_untouched_name(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    Child child = child_start(map_untouched, folder);
    harness_await_mapping(harness, child.pid);
    child_end(&child);
    remove_folder(folder);
}

static void map_others(__attribute__((unused)) int control,
                       __attribute__((unused)) const void *argument) {
    static const char *const names[] = {
        "dotnet_ipc_create",  "dotnet_ipc_created2", "dotnet_ipc_createD", "Dotnet_ipc_created",
        "DOTNET_IPC_CREATED", "otnet_ipc_created_",  "xdotnet_ipc_create", "",
    };
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        map_named(names[i], PROT_NONE);
}

static void test_other_names(void **state) {
    Harness *harness = *state;
    Child child = child_start(map_others, NULL);
    harness_fence(harness);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid), 0);
    child_end(&child);
}

static void map_twice(int control, const void *argument) {
    map_with(control, argument);
    map_with(control, argument);
}

static void test_twice(void **state) {
    Harness *harness = *state;
    const int protection = PROT_NONE;
    Child child = child_start(map_twice, &protection);
    harness_fence(harness);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid), 2);
    const ProcessKey *first = NULL;
    for (size_t i = 0; i < harness->count; i++) {
        const Signal *signal = &harness->inputs[i].signal;
        if (harness->inputs[i].kind != INPUT_SIGNAL || signal->key.pid != child.pid)
            continue;
        if (first) {
            assert_int_equal(first->start_ticks, signal->key.start_ticks);
            assert_int_equal(first->exec_count, signal->key.exec_count);
        }
        first = &signal->key;
    }
    child_end(&child);
}

static void *map_in_thread(void *argument) {
    MUST(pthread_setname_np(pthread_self(), "another") == 0);
    map_fd(*(int *)argument, PROT_NONE);
    return NULL;
}

static void map_from_thread(__attribute__((unused)) int control,
                            __attribute__((unused)) const void *argument) {
    int fd = make_memfd(DISCOVERY_MAPPING_NAME);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, map_in_thread, &fd) == 0);
    MUST(pthread_join(thread, NULL) == 0);
}

// It is the process that is told, not the thread.
static void test_second_thread(void **state) {
    Harness *harness = *state;
    Child child = child_start(map_from_thread, NULL);
    harness_await_mapping(harness, child.pid);
    const Signal *signal = harness_signal(harness, SIGNAL_MAPPING, child.pid);
    assert_int_equal(signal->key.start_ticks, start_ticks_of(child.pid));
    assert_string_equal(signal->command, "mapping_bpf_tes");
    child_end(&child);
}

static void map_duplicate(__attribute__((unused)) int control,
                          __attribute__((unused)) const void *argument) {
    int fd = make_memfd(DISCOVERY_MAPPING_NAME);
    int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 700);
    MUST(duplicate >= 700);
    close(fd);
    map_fd(duplicate, PROT_NONE);
}

static void test_duplicate(void **state) {
    Harness *harness = *state;
    Child child = child_start(map_duplicate, NULL);
    harness_await_mapping(harness, child.pid);
    child_end(&child);
}

// What counts is the file at the moment of the call: first the number is another memfd's.
static void map_reused(int control, __attribute__((unused)) const void *argument) {
    int named = make_memfd(DISCOVERY_MAPPING_NAME);
    int other = make_memfd("doublemapper");
    int number = fcntl(named, F_DUPFD_CLOEXEC, 100);
    MUST(dup2(other, number) == number);
    map_fd(number, PROT_NONE);
    child_pause(control);
    MUST(dup2(named, number) == number);
    map_fd(number, PROT_NONE);
}

static void test_reused_number(void **state) {
    Harness *harness = *state;
    Child child = child_start(map_reused, NULL);
    harness_fence(harness);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid), 0);
    child_go(&child);
    harness_await_mapping(harness, child.pid);
    child_end(&child);
}

static void map_tmpfs_file(__attribute__((unused)) int control,
                           __attribute__((unused)) const void *argument) {
    static const char path[] = "/dev/shm/memfd:" DISCOVERY_MAPPING_NAME;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    MUST(fd >= 0);
    map_fd(fd, PROT_NONE);
    unlink(path);
    map_fd(fd, PROT_NONE);
}

static void test_file_of_that_name(void **state) {
    Harness *harness = *state;
    struct statfs fs;
    if (statfs("/dev/shm", &fs) < 0 || fs.f_type != TMPFS) {
        print_message("Skipped: /dev/shm is not a tmpfs.\n");
        skip();
    }
    Child child = child_start(map_tmpfs_file, NULL);
    harness_fence(harness);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid), 0);
    child_end(&child);
}

// The kernel has another file system for these. None of the pages has to be there.
static void map_huge(__attribute__((unused)) int control, const void *fd) {
    void *address = mmap(NULL, HUGE, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE, *(const int *)fd, 0);
    MUST(address != MAP_FAILED);
}

static void test_huge_pages(void **state) {
    Harness *harness = *state;
    int fd = memfd_create(DISCOVERY_MAPPING_NAME, MFD_CLOEXEC | MFD_HUGETLB);
    if (fd < 0) {
        print_message("Skipped: this kernel has no huge pages: %s.\n", strerrorname_np(errno));
        skip();
    }
    Child child = child_start(map_huge, &fd);
    harness_await_mapping(harness, child.pid);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid), 1);
    child_end(&child);
    close(fd);
}

// A service maps what another user sent it.
static void map_anothers(__attribute__((unused)) int control, const void *uids) {
    const uid_t *uid = uids; // of who makes it, of who maps it
    MUST(seteuid(uid[0]) == 0);
    int fd = make_memfd(DISCOVERY_MAPPING_NAME);
    MUST(seteuid(0) == 0 && seteuid(uid[1]) == 0);
    map_fd(fd, PROT_NONE);
}

static void test_of_another_user(void **state) {
    Harness *harness = *state;
    static const uid_t uids[][2] = {{65534, 0}, {65534, 65533}, {0, 65534}, {65534, 65534}};
    for (size_t i = 0; i < ELEMENTS_OF(uids); i++) {
        Child child = child_start(map_anothers, uids[i]);
        harness_fence(harness);
        assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid),
                         uids[i][0] == uids[i][1]);
        child_end(&child);
    }
}

static void map_unrelated(__attribute__((unused)) int control,
                          __attribute__((unused)) const void *argument) {
    int other = make_memfd("doublemapper");
    int named = make_memfd(DISCOVERY_MAPPING_NAME);
    int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 10000; i++) {
        // The last one has the memfd's number and yet no file; the kernel takes it so.
        int fds[] = {other, program, -1, named};
        int flags = i % 4 < 2 ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS;
        void *address = mmap(NULL, 4096, PROT_READ, flags, fds[i % 4], 0);
        MUST(address != MAP_FAILED);
        MUST(munmap(address, 4096) == 0);
    }
    // Descriptors that are not open, or beyond any table.
    MUST(mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, 900, 0) == MAP_FAILED);
    MUST(mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, INT32_MAX, 0) == MAP_FAILED);
    MUST(mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, INT32_MIN, 0) == MAP_FAILED);
}

static void test_unrelated(void **state) {
    Harness *harness = *state;
    Child child = child_start(map_unrelated, NULL);
    harness_fence(harness);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid), 0);
    assert_int_equal(source_counters(harness->source)->records_lost, 0);
    child_end(&child);
}

int main(void) {
    harness_skip_unless_privileged();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protections),
        cmocka_unit_test(test_effective_ids),
        cmocka_unit_test(test_untouched_name),
        cmocka_unit_test(test_other_names),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_second_thread),
        cmocka_unit_test(test_duplicate),
        cmocka_unit_test(test_reused_number),
        cmocka_unit_test(test_file_of_that_name),
        cmocka_unit_test(test_huge_pages),
        cmocka_unit_test(test_of_another_user),
        cmocka_unit_test(test_unrelated),
    };
    return cmocka_run_group_tests(tests, harness_setup, harness_teardown);
}
