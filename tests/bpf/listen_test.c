// Which calls of listen() are told, what is told of them, and that nothing else is.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "discovery_names.h"
#include "harness.h"
#include "macro.h"
#include "mapper.h"

#define NAME DISCOVERY_SOCKET_PREFIX "1-2-socket"

enum { LONGEST = SOCKET_PATH_SIZE - 1 };

static int bind_in(const void *folder, const char *name, int type) {
    char path[LONGEST + 1];
    MUST((size_t)snprintf(path, sizeof path, "%s/%s", (const char *)folder, name) < sizeof path);
    return bind_at(path, type);
}

// Starts the child in a folder of its own and waits for its first signal.
static Child start(Harness *harness, ChildBody body, char folder[static 32]) {
    make_folder(folder);
    Child child = child_start(body, folder);
    harness_await_listen(harness, child.pid);
    return child;
}

static void end(Child *child, const char *folder) {
    child_end(child);
    remove_folder(folder);
}

static void listen_as_runtime(__attribute__((unused)) int control, const void *folder) {
    MUST(listen(bind_in(folder, NAME, SOCK_STREAM), 255) == 0);
}

// The process is described as /proc has it, the socket as it was bound.
static void test_listen(void **state) {
    Harness *harness = *state;
    char folder[32], path[64];
    uint64_t before_us = instant_now().boottime_us;
    Child child = start(harness, listen_as_runtime, folder);

    const Signal *signal = harness_signal(harness, SIGNAL_LISTEN, child.pid);
    snprintf(path, sizeof path, "%s/" NAME, folder);
    assert_string_equal(signal->socket_path, path);
    assert_int_equal(signal->protection, PROTECTION_UNKNOWN);
    assert_int_equal(signal->key.start_ticks, start_ticks_of(child.pid));
    assert_true(signal->key.exec_count != EXEC_COUNT_UNKNOWN);
    assert_int_equal(signal->namespace_pid, child.pid);
    assert_int_equal(signal->uid, geteuid());
    assert_int_equal(signal->gid, getegid());
    assert_string_equal(signal->command, "listen_bpf_test");
    assert_in_range(signal->seen.boottime_us, before_us, instant_now().boottime_us);
    assert_int_equal(harness_signals(harness, SIGNAL_LISTEN, child.pid), 1);
    end(&child, folder);
}

static void listen_relative(__attribute__((unused)) int control, const void *folder) {
    MUST(chdir(folder) == 0);
    listen_at(NAME);
}

static void listen_cut(__attribute__((unused)) int control, const void *folder) {
    MUST(chdir(folder) == 0);
    listen_at("./" DISCOVERY_SOCKET_PREFIX_CUT);
}

static void listen_at_length(const void *folder, size_t length) {
    MUST(chdir(folder) == 0);
    char path[LONGEST + 1];
    memset(path, '/', sizeof path);
    path[0] = '.';
    strcpy(path + length - strlen(NAME), NAME);
    listen_at(path);
}

// The longest path with a NUL, and the longest of all, which leaves no room for one.
static void listen_at_107(__attribute__((unused)) int control, const void *folder) {
    listen_at_length(folder, 107);
}

static void listen_at_108(__attribute__((unused)) int control, const void *folder) {
    listen_at_length(folder, 108);
}

static void test_paths(void **state) {
    Harness *harness = *state;
    static const struct {
        ChildBody body;
        const char *begin;
        size_t length;
    } cases[] = {
        {listen_relative, DISCOVERY_SOCKET_PREFIX, sizeof NAME - 1},
        {listen_cut, "./dotnet-diagno", 15},
        {listen_at_107, ".//", 107},
        {listen_at_108, ".//", 108},
    };
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char folder[32];
        Child child = start(harness, cases[i].body, folder);
        const Signal *signal = harness_signal(harness, SIGNAL_LISTEN, child.pid);
        assert_int_equal(strlen(signal->socket_path), cases[i].length);
        assert_memory_equal(signal->socket_path, cases[i].begin, strlen(cases[i].begin));
        assert_non_null(strstr(signal->socket_path, DISCOVERY_SOCKET_PREFIX_CUT));
        end(&child, folder);
    }
}

static void listen_at_others(const void *folder) {
    static const char *const names[] = {
        "dotnet-diagnostic-dsrouter-1-2-socket", "dotnet-diagn",
        "Dotnet-diagnostic-1-2-socket",          "xdotnet-diagnostic-1-2-socket",
        "dotnet_diagnostic-1-2-socket",          "clr-debug-pipe-1-2-in",
    };
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        MUST(listen(bind_in(folder, names[i], SOCK_STREAM), 1) == 0);

    // The name of a folder is none of the socket's.
    MUST(chdir(folder) == 0 && mkdir(NAME, 0700) == 0);
    MUST(listen(bind_at(NAME "/socket", SOCK_STREAM), 1) == 0);
    MUST(unlink(NAME "/socket") == 0 && rmdir(NAME) == 0);
}

static void listen_at_other_kinds(const void *folder) {
    MUST(listen(bind_in(folder, NAME "-a", SOCK_SEQPACKET), 1) == 0);
    MUST(listen(bind_in(folder, NAME "-b", SOCK_DGRAM), 1) == -1);
    bind_in(folder, NAME "-c", SOCK_STREAM); // which does not listen

    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); // unbound
    MUST(fd >= 0 && listen(fd, 1) == -1);
    struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0" NAME};
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(bind(fd, (struct sockaddr *)&abstract, 2 + sizeof NAME) == 0);
    MUST(listen(fd, 1) == 0);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd < 0 || listen(fd, 1) == 0);

    // A file and a socket's file of that name are no socket.
    char path[64];
    snprintf(path, sizeof path, "%s/" NAME, (const char *)folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    MUST(fd >= 0 && listen(fd, 1) == -1);
    snprintf(path, sizeof path, "%s/" NAME "-c", (const char *)folder);
    fd = open(path, O_PATH | O_CLOEXEC);
    MUST(fd >= 0 && listen(fd, 1) == -1);
}

static void listen_elsewhere(__attribute__((unused)) int control, const void *folder) {
    listen_at_others(folder);
    listen_at_other_kinds(folder);
    static const int closed[] = {-1, 900, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < ELEMENTS_OF(closed); i++)
        MUST(listen(closed[i], 1) == -1);
}

static void test_others(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    Child child = child_start(listen_elsewhere, folder);
    harness_fence(harness);
    assert_int_equal(harness_signals(harness, SIGNAL_LISTEN, child.pid), 0);
    end(&child, folder);
}

static void listen_in_vain(int control, const void *folder) {
    int fd = bind_in(folder, NAME, SOCK_STREAM);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/peer", (const char *)folder);
    listen_at(address.sun_path);
    MUST(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    int result = listen(fd, 1);
    child_pause(control);
    child_tell(control, result);
    fd = bind_in(folder, NAME "-b", SOCK_STREAM);
    MUST(listen(fd, 1) == 0 && listen(fd, 255) == 0);
}

typedef struct Expected {
    pid_t pid;
    size_t count;
} Expected;

static bool has_as_many(const Harness *harness, const void *argument) {
    const Expected *expected = argument;
    return harness_signals(harness, SIGNAL_LISTEN, expected->pid) == expected->count;
}

// A second call is told of as the first is. One that fails is, where the call is seen at its entry,
// and is not where it is seen at its end. (Some kernels, of 6.18 and 7.0, say that it did not
// fail.)
static void test_failing_and_again(void **state) {
    Harness *harness = *state;
    bool at_end = source_mechanism(harness->source) == MECHANISM_FENTRY;
    char folder[32];
    make_folder(folder);
    Child child = child_start(listen_in_vain, folder);
    child_let_go(&child);
    bool failed = child_number(&child) < 0;
    const Expected expected = {child.pid, at_end && failed ? 2 : 3};
    harness_run(harness, has_as_many, &expected);
    const ProcessKey last = harness_signal(harness, SIGNAL_LISTEN, child.pid)->key;
    for (size_t i = 0; i < harness->count; i++) {
        const Signal *signal = &harness->inputs[i].signal;
        if (harness->inputs[i].kind != INPUT_SIGNAL || signal->key.pid != child.pid)
            continue;
        assert_int_equal(signal->key.start_ticks, last.start_ticks);
        assert_int_equal(signal->key.exec_count, last.exec_count);
    }
    end(&child, folder);
}

static void *listen_in_thread(void *fd) {
    MUST(pthread_setname_np(pthread_self(), "another") == 0);
    MUST(listen(*(int *)fd, 1) == 0);
    return NULL;
}

static void listen_from_thread(__attribute__((unused)) int control, const void *folder) {
    int fd = fcntl(bind_in(folder, NAME, SOCK_STREAM), F_DUPFD_CLOEXEC, 700);
    pthread_t thread;
    MUST(fd >= 700);
    MUST(pthread_create(&thread, NULL, listen_in_thread, &fd) == 0);
    MUST(pthread_join(thread, NULL) == 0);
}

// It is the process that is told, not the thread; no number is too large.
static void test_second_thread(void **state) {
    Harness *harness = *state;
    char folder[32];
    Child child = start(harness, listen_from_thread, folder);
    const Signal *signal = harness_signal(harness, SIGNAL_LISTEN, child.pid);
    assert_int_equal(signal->key.start_ticks, start_ticks_of(child.pid));
    assert_string_equal(signal->command, "listen_bpf_test");
    end(&child, folder);
}

static void listen_to_inherited(__attribute__((unused)) int control, const void *fd) {
    if (*(const int *)fd >= 0)
        MUST(listen(*(const int *)fd, 1) == 0);
}

static void run_parent(int control, const void *folder) {
    int fd = bind_in(folder, NAME, SOCK_STREAM), none = -1;
    MUST(listen(fd, 1) == 0);
    Child heir = child_start(listen_to_inherited, &none), taker;
    taker = child_start(listen_to_inherited, &fd);
    child_pause(control);
    child_tell(control, heir.pid);
    child_tell(control, taker.pid);
}

// A child that has inherited the socket is not told; one that calls listen() makes it its own.
static void test_inherited(void **state) {
    Harness *harness = *state;
    char folder[32];
    Child parent = start(harness, run_parent, folder);
    child_let_go(&parent);
    pid_t heir = child_number(&parent), taker = child_number(&parent);
    harness_await_listen(harness, taker);
    assert_int_equal(harness_signals(harness, SIGNAL_LISTEN, heir), 0);
    assert_int_equal(harness_signals(harness, SIGNAL_LISTEN, parent.pid), 1);
    end(&parent, folder);
}

typedef struct Handover {
    const char *folder;
    uid_t maker, listener;
} Handover;

static void listen_to_anothers(__attribute__((unused)) int control, const void *argument) {
    const Handover *handover = argument;
    MUST(seteuid(handover->maker) == 0);
    int fd = bind_in(handover->folder, NAME, SOCK_STREAM);
    MUST(seteuid(0) == 0 && seteuid(handover->listener) == 0);
    MUST(listen(fd, 1) == 0);
}

// A service listens at the socket that another user handed to it.
static void test_of_another_user(void **state) {
    Harness *harness = *state;
    static const uid_t uids[][2] = {{65534, 0}, {65534, 65533}, {0, 65534}, {65534, 65534}};
    for (size_t i = 0; i < ELEMENTS_OF(uids); i++) {
        char folder[32];
        make_folder(folder);
        MUST(chmod(folder, 0777) == 0);
        const Handover handover = {folder, uids[i][0], uids[i][1]};
        Child child = child_start(listen_to_anothers, &handover);
        harness_fence(harness);
        size_t told = harness_signals(harness, SIGNAL_LISTEN, child.pid);
        assert_int_equal(told, handover.maker == handover.listener);
        if (told)
            assert_int_equal(harness_signal(harness, SIGNAL_LISTEN, child.pid)->uid, 65534);
        end(&child, folder);
    }
}

static void listen_and_map(int control, const void *folder) {
    listen_as_runtime(control, folder);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

// One life, first told of by its socket.
static void test_order(void **state) {
    Harness *harness = *state;
    char folder[32];
    make_folder(folder);
    size_t before = harness->count;
    Child child = child_start(listen_and_map, folder);
    harness_await_mapping(harness, child.pid);
    const Signal *mapping = harness_signal(harness, SIGNAL_MAPPING, child.pid);
    const Signal *listen = harness_signal(harness, SIGNAL_LISTEN, child.pid);
    assert_true(listen < mapping && &harness->inputs[before].signal <= listen);
    assert_int_equal(listen->key.start_ticks, mapping->key.start_ticks);
    assert_int_equal(listen->key.exec_count, mapping->key.exec_count);
    assert_string_equal(listen->socket_path, mapping->socket_path);
    end(&child, folder);
}

static void listen_and_execute(int control, const void *folder) {
    listen_as_runtime(control, folder);
    child_pause(control);
    mapper_execute(control);
}

// A process that was told for its socket alone is followed to its execve.
static void test_exec(void **state) {
    Harness *harness = *state;
    char folder[32];
    Child child = start(harness, listen_and_execute, folder);
    const ProcessKey key = harness_signal(harness, SIGNAL_LISTEN, child.pid)->key;
    child_go(&child);
    harness_await_mapping(harness, child.pid);
    assert_int_equal(harness_execs(harness, child.pid), 1);
    assert_int_equal(harness_exec(harness, child.pid)->exec_count, key.exec_count + 1);
    end(&child, folder);
}

int main(int argc, char *argv[]) {
    if (mapper_main(argc, argv))
        return 0;
    harness_skip_unless_privileged();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listen),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_failing_and_again),
        cmocka_unit_test(test_second_thread),
        cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_of_another_user),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_exec),
    };
    return cmocka_run_group_tests(tests, harness_setup, harness_teardown);
}
