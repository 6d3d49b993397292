// The mechanisms: each that works here tells of the same, one that is refused or that never tells
// leads to the next, and what the daemon does to test them concerns nobody else.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "discovery_names.h"
#include "fake_hooks.h"
#include "harness.h"
#include "mapper.h"

// How the mechanisms behave, where a test changes that. The linker puts the functions below before
// the real ones.
typedef enum Behaviour {
    REAL,
    REFUSED, // with an error
    SILENT,  // attached, and never called
    NO_MEMORY,
} Behaviour;

static Behaviour behaviours[MECHANISM_COUNT_];
static int self_test_error;
static int tracepoint_errno; // of attaching to tracepoints of system calls

int __wrap_hooks_attach(Hooks *hooks, const Kernel *kernel, MechanismId mechanism, char **ret_why) {
    switch (behaviours[mechanism]) {
    case REAL:
        return __real_hooks_attach(hooks, kernel, mechanism, ret_why);
    case REFUSED:
        *ret_why = strdup("refused by this test");
        return *ret_why ? HOOKS_REFUSED : -ENOMEM;
    case NO_MEMORY:
        return -ENOMEM;
    case SILENT:
        break;
    }
    *hooks = (Hooks){.mapping = "nothing", .listen = "nothing"};
    return HOOKS_ATTACHED;
}

int __wrap_self_test_begin(SelfTest *test) {
    return self_test_error < 0 ? self_test_error : __real_self_test_begin(test);
}

int __wrap_perf_init(Perf *perf, Context *context, size_t bytes, bool exec, PerfLoss loss,
                     void *userdata) {
    if (behaviours[MECHANISM_PERF] == REAL)
        return __real_perf_init(perf, context, bytes, exec, loss, userdata);
    *perf = (Perf){.context = context};
    return 0;
}

struct bpf_link *__wrap_bpf_program__attach(const struct bpf_program *program) {
    if (tracepoint_errno == 0 || strncmp(bpf_program__name(program), "syscall_", 8) != 0)
        return __real_bpf_program__attach(program);
    errno = tracepoint_errno;
    return NULL;
}

static int reset(__attribute__((unused)) void **state) {
    memset(behaviours, 0, sizeof behaviours);
    self_test_error = 0;
    tracepoint_errno = 0;
    return 0;
}

static void behave(Behaviour behaviour, MechanismId first, MechanismId last) {
    for (MechanismId id = first; id <= last; id++)
        behaviours[id] = behaviour;
}

static const Mechanism *used_of(const Harness *harness) {
    const Mechanism *mechanisms = source_mechanisms(harness->source);
    const Mechanism *used = &mechanisms[source_mechanism(harness->source)];
    for (MechanismId id = 0; id < MECHANISM_COUNT_; id++)
        assert_int_equal(mechanisms[id].used, &mechanisms[id] == used);
    assert_null(used->detail);
    return used;
}

static void listen_and_map(__attribute__((unused)) int control, const void *folder) {
    char path[64];
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX "1-2-socket", (const char *)folder);
    listen_at(path);
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

// A process that starts is told of, twice, and nothing of the daemon itself is.
static void check_tells(Harness *harness) {
    char folder[32];
    make_folder(folder);
    Child child = child_start(listen_and_map, folder);
    harness_await_listen(harness, child.pid);
    harness_await_mapping(harness, child.pid);
    assert_int_equal(harness_signals(harness, SIGNAL_LISTEN, child.pid), 1);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, child.pid), 1);
    assert_int_equal(harness_signals(harness, SIGNAL_LISTEN, getpid()), 0);
    assert_int_equal(harness_signals(harness, SIGNAL_MAPPING, getpid()), 0);
    child_end(&child);
    remove_folder(folder);
}

static void test_each(__attribute__((unused)) void **state) {
    static const char *const kinds[][2] = {
        [MECHANISM_FENTRY] = {"fentry shmem_mmap", "fexit unix_listen"},
        [MECHANISM_KPROBE] = {"kprobe shmem_mmap", "kprobe unix_listen"},
        [MECHANISM_SYSCALL_TRACEPOINT] = {"tracepoint syscalls/sys_enter_mmap",
                                          "tracepoint syscalls/sys_enter_listen"},
        [MECHANISM_RAW_TRACEPOINT] = {"raw tracepoint sys_enter", "raw tracepoint sys_enter"},
    };
    for (MechanismId id = MECHANISM_FENTRY; id <= MECHANISM_RAW_TRACEPOINT; id++) {
        Harness harness;
        harness_init_by(&harness, id, NULL);
        const Mechanism *mechanisms = source_mechanisms(harness.source);
        const Program *programs = source_programs(harness.source);
        if (used_of(&harness) == &mechanisms[id]) {
            const char *mapping = programs[PROGRAM_MAPPING].kind;
            assert_memory_equal(mapping, kinds[id][0], strlen(kinds[id][0]));
            assert_string_equal(programs[PROGRAM_LISTEN].kind, kinds[id][1]);
            check_tells(&harness);
        } else {
            print_message("Not here: %s: %s.\n", mechanisms[id].name, mechanisms[id].detail);
            assert_true(harness_is_withheld(&mechanisms[id]));
            assert_int_equal(source_mechanism(harness.source), MECHANISM_SCAN);
        }
        for (MechanismId other = 0; other < MECHANISM_COUNT_; other++)
            if (other != id && mechanisms[other].detail)
                assert_non_null(strstr(mechanisms[other].detail, "not tried"));
        harness_done(&harness);
    }
}

// What is refused leads to the next, which tells.
static void test_refused(__attribute__((unused)) void **state) {
    behave(REFUSED, MECHANISM_FENTRY, MECHANISM_SYSCALL_TRACEPOINT);
    Harness harness;
    harness_init_by(&harness, MECHANISM_AUTO, NULL);
    const Mechanism *mechanisms = source_mechanisms(harness.source);
    assert_string_equal(used_of(&harness)->name, "raw-tracepoint");
    for (MechanismId id = 0; id < MECHANISM_RAW_TRACEPOINT; id++)
        assert_string_equal(mechanisms[id].detail, "refused by this test");
    assert_null(mechanisms[MECHANISM_PERF].detail);
    assert_int_equal(source_scan_interval_us(harness.source), 0);
    check_tells(&harness);
    harness_done(&harness);
}

// So does what attaches and never tells.
static void test_silent(__attribute__((unused)) void **state) {
    behave(SILENT, MECHANISM_FENTRY, MECHANISM_SYSCALL_TRACEPOINT);
    Harness harness;
    harness_init_by(&harness, MECHANISM_AUTO, NULL);
    const Mechanism *mechanisms = source_mechanisms(harness.source);
    assert_string_equal(used_of(&harness)->name, "raw-tracepoint");
    assert_non_null(strstr(mechanisms[MECHANISM_FENTRY].detail,
                           "not told of its own mapping and its own listening socket"));
    check_tells(&harness);
    harness_done(&harness);
}

static void test_silent_perf(__attribute__((unused)) void **state) {
    behave(SILENT, MECHANISM_PERF, MECHANISM_PERF);
    Harness harness;
    harness_init_by(&harness, MECHANISM_PERF, NULL);
    assert_string_equal(used_of(&harness)->name, "scan");
    assert_non_null(strstr(source_mechanisms(harness.source)[MECHANISM_PERF].detail,
                           "not told of its own mapping within"));
    assert_true(source_scan_interval_us(harness.source) > 0);
    harness_done(&harness);
}

// Only what is wanted has to tell.
static void test_silent_in_part(__attribute__((unused)) void **state) {
    static const bool without_listen[PROGRAM_COUNT_] = {[PROGRAM_LISTEN] = true};
    behave(SILENT, MECHANISM_FENTRY, MECHANISM_SYSCALL_TRACEPOINT);
    Harness harness;
    harness_init_by(&harness, MECHANISM_AUTO, without_listen);
    const Mechanism *mechanisms = source_mechanisms(harness.source);
    assert_string_equal(used_of(&harness)->name, "raw-tracepoint");
    assert_non_null(
        strstr(mechanisms[MECHANISM_FENTRY].detail, "not told of its own mapping within"));
    assert_string_equal(source_programs(harness.source)[PROGRAM_LISTEN].kind, "none");
    harness_fence(&harness);
    harness_done(&harness);
}

// A mechanism that was asked for by name and does not work leaves scans at an interval, and the
// programs that need no mechanism.
static void test_forced_and_refused(__attribute__((unused)) void **state) {
    behave(SILENT, MECHANISM_FENTRY, MECHANISM_RAW_TRACEPOINT);
    Harness harness;
    harness_init_by(&harness, MECHANISM_RAW_TRACEPOINT, NULL);
    assert_string_equal(used_of(&harness)->name, "scan");
    const Program *programs = source_programs(harness.source);
    assert_false(programs[PROGRAM_MAPPING].attached || programs[PROGRAM_LISTEN].attached);
    assert_string_equal(programs[PROGRAM_MAPPING].kind, "none");
    assert_non_null(strstr(programs[PROGRAM_LISTEN].detail, "the mechanism scan has none"));
    assert_true(programs[PROGRAM_EXEC].attached && programs[PROGRAM_SCAN].attached);
    assert_int_equal(source_scan(harness.source), 0);
    assert_true(source_scan_interval_us(harness.source) > 0);
    harness_done(&harness);
}

static void test_untestable(__attribute__((unused)) void **state) {
    self_test_error = -EMFILE;
    Harness harness;
    harness_init_by(&harness, MECHANISM_RAW_TRACEPOINT, NULL);
    assert_string_equal(used_of(&harness)->name, "scan");
    assert_non_null(
        strstr(source_mechanisms(harness.source)[MECHANISM_RAW_TRACEPOINT].detail, "(EMFILE)"));
    harness_done(&harness);
}

// A vendor's kernel, whose record there has another form.
static void test_other_arguments(__attribute__((unused)) void **state) {
    tracepoint_errno = EACCES;
    Harness harness;
    harness_init_by(&harness, MECHANISM_SYSCALL_TRACEPOINT, NULL);
    assert_string_equal(used_of(&harness)->name, "scan");
    const Mechanism *mechanisms = source_mechanisms(harness.source);
    assert_non_null(
        strstr(mechanisms[MECHANISM_SYSCALL_TRACEPOINT].detail, "hands other arguments"));
    harness_done(&harness);
}

static void ignore(__attribute__((unused)) void *userdata, __attribute__((unused)) Input *input) {
}

// The one error of the ladder that is the daemon's own.
static void test_no_memory(__attribute__((unused)) void **state) {
    behave(NO_MEMORY, MECHANISM_FENTRY, MECHANISM_FENTRY);
    const SourceOptions options = {
        .processes = 16, .ring_bytes = 4096, .mechanism = MECHANISM_FENTRY};
    sd_event *event = NULL;
    Source *source = NULL;
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(source_new(event, &options, ignore, NULL, &source), 0);
    assert_int_equal(source_attach(source), -ENOMEM);
    source_free(source);
    sd_event_unref(event);
}

static void test_as_a_daemon(__attribute__((unused)) int control,
                             __attribute__((unused)) const void *argument) {
    SelfTest test;
    MUST(self_test_begin(&test) == 0);
}

// Another daemon's self-test is told to that one alone.
static void test_of_another_daemon(__attribute__((unused)) void **state) {
    Harness harness;
    harness_init(&harness, NULL);
    Child child = child_start(test_as_a_daemon, NULL);
    harness_fence(&harness);
    assert_int_equal(harness_signals(&harness, SIGNAL_MAPPING, child.pid), 0);
    assert_int_equal(harness_signals(&harness, SIGNAL_LISTEN, child.pid), 0);
    child_end(&child);

    // Its own is never handed on, however often.
    SelfTest test;
    MUST(self_test_begin(&test) == 0);
    harness_fence(&harness);
    assert_int_equal(harness_signals(&harness, SIGNAL_MAPPING, getpid()), 0);
    assert_int_equal(harness_signals(&harness, SIGNAL_LISTEN, getpid()), 0);
    harness_done(&harness);
}

#ifdef __x86_64__
// Calls by a 32-bit program's numbers, with the registers that a 64-bit one's mmap and listen read:
// there 9 is link, which fails, and 50 a number of getegid.
static void call_as_32_bit(__attribute__((unused)) int control, const void *folder) {
    const long numbers[] = {9, 50};
    char path[64];
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX "1-2-socket", (const char *)folder);
    const long fds[] = {make_memfd(DISCOVERY_MAPPING_NAME), bind_at(path, SOCK_STREAM)};
    for (size_t i = 0; i < 2; i++) {
        register long flags __asm__("r10") = MAP_PRIVATE;
        // cppcheck-suppress constStatement ; does not know that a register is asked for
        register long fd __asm__("r8") = fds[i];
        long result = numbers[i];
        __asm__ volatile("int $0x80"
                         : "+a"(result)
                         : "b"(0), "c"(0), "d"(0), "S"(0), "D"(fds[i]), "r"(flags), "r"(fd)
                         : "memory");
    }
}

static bool has_32_bit_calls(void) {
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        long result = 20; // getpid
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
        _exit(result != getpid());
    }
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_32_bit_calls(__attribute__((unused)) void **state) {
    if (!has_32_bit_calls()) {
        print_message("Skipped: this kernel has no calls of 32-bit programs.\n");
        skip();
    }
    for (MechanismId id = MECHANISM_SYSCALL_TRACEPOINT; id <= MECHANISM_RAW_TRACEPOINT; id++) {
        Harness harness;
        harness_init_by(&harness, id, NULL);
        assert_int_equal(source_mechanism(harness.source), id);
        char folder[32];
        make_folder(folder);
        Child child = child_start(call_as_32_bit, folder);
        harness_fence(&harness);
        assert_int_equal(harness_signals(&harness, SIGNAL_MAPPING, child.pid), 0);
        assert_int_equal(harness_signals(&harness, SIGNAL_LISTEN, child.pid), 0);
        child_end(&child);
        remove_folder(folder);
        harness_done(&harness);
    }
}
#endif

// Runs `body` in a process of its own, which ends by MUST() where something is not so.
static void run_apart(void (*body)(void)) {
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        body();
        _exit(0);
    }
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void run_without_tracefs(void) {
    MUST(unshare(CLONE_NEWNS) == 0);
    MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    umount2("/sys/kernel/debug", MNT_DETACH);
    MUST(umount2("/sys/kernel/tracing", MNT_DETACH) == 0);
    Harness harness;
    harness_init_by(&harness, MECHANISM_SYSCALL_TRACEPOINT, NULL);
    MUST(source_mechanism(harness.source) == MECHANISM_SCAN);
    const Mechanism *mechanisms = source_mechanisms(harness.source);
    MUST(strstr(mechanisms[MECHANISM_SYSCALL_TRACEPOINT].detail, "mount -t tracefs") != NULL);
    const Program *programs = source_programs(harness.source);
    MUST(programs[PROGRAM_EXEC].attached && programs[PROGRAM_SCAN].attached);
    harness_done(&harness);

    harness_init_by(&harness, MECHANISM_AUTO, NULL);
    MUST(source_mechanism(harness.source) != MECHANISM_SYSCALL_TRACEPOINT);
    MUST(source_mechanism(harness.source) <= MECHANISM_RAW_TRACEPOINT);
    harness_fence(&harness);
    harness_done(&harness);
}

static void test_without_tracefs(__attribute__((unused)) void **state) {
    run_apart(run_without_tracefs);
}

// One of the first 32.
static void drop_capability(unsigned capability) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    MUST(syscall(SYS_capget, &header, data) == 0);
    data[0].effective &= ~(UINT32_C(1) << capability);
    data[0].permitted &= ~(UINT32_C(1) << capability);
    MUST(syscall(SYS_capset, &header, data) == 0);
}

// What the kernels of some distributions answer who has CAP_BPF and CAP_PERFMON alone.
static void run_restricted(void) {
    char path[] = "/tmp/paranoid-XXXXXX";
    int fd = mkstemp(path);
    MUST(fd >= 0 && write(fd, "3\n", 2) == 2);
    MUST(unshare(CLONE_NEWNS) == 0);
    MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    MUST(mount(path, "/proc/sys/kernel/perf_event_paranoid", NULL, MS_BIND, NULL) == 0);
    MUST(unlink(path) == 0);
    drop_capability(CAP_SYS_ADMIN);
    tracepoint_errno = EACCES;
    Harness harness;
    harness_init_by(&harness, MECHANISM_SYSCALL_TRACEPOINT, NULL);
    MUST(source_mechanism(harness.source) == MECHANISM_SCAN);
    const Mechanism *mechanisms = source_mechanisms(harness.source);
    MUST(strstr(mechanisms[MECHANISM_SYSCALL_TRACEPOINT].detail,
                "set sysctl kernel.perf_event_paranoid=2") != NULL);
    harness_done(&harness);
    close(fd);
}

static void test_restricted(__attribute__((unused)) void **state) {
    run_apart(run_restricted);
}

// As root, but for the right to raise its own limits.
static void run_with_little_memory(void) {
    const struct rlimit limit = {.rlim_cur = 65536, .rlim_max = 65536};
    MUST(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    drop_capability(CAP_SYS_RESOURCE);
    Harness harness;
    harness_init_by(&harness, MECHANISM_AUTO, NULL);
    const Mechanism *mechanisms = source_mechanisms(harness.source);
    const char *detail = mechanisms[MECHANISM_FENTRY].detail;
    // From 5.11 on the limit does not count.
    if (source_mechanism(harness.source) >= MECHANISM_PERF)
        MUST(detail && strstr(detail, "LimitMEMLOCK=infinity"));
    else
        MUST(!detail || !strstr(detail, "LimitMEMLOCK"));
    harness_done(&harness);
}

static void test_little_memory(__attribute__((unused)) void **state) {
    run_apart(run_with_little_memory);
}

static void run_without_privileges(void) {
    MUST(setresgid(65534, 65534, 65534) == 0);
    MUST(setresuid(65534, 65534, 65534) == 0);
    Harness harness;
    harness_init_by(&harness, MECHANISM_AUTO, NULL);
    MUST(source_mechanism(harness.source) >= MECHANISM_PERF);
    const Mechanism *mechanisms = source_mechanisms(harness.source);
    for (MechanismId id = 0; id <= MECHANISM_RAW_TRACEPOINT; id++)
        MUST(strstr(mechanisms[id].detail, "run as root") != NULL);
    harness_done(&harness);
}

static void test_without_privileges(__attribute__((unused)) void **state) {
    run_apart(run_without_privileges);
}

int main(void) {
    harness_skip_unless_privileged();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each, reset),
        cmocka_unit_test_setup(test_refused, reset),
        cmocka_unit_test_setup(test_silent, reset),
        cmocka_unit_test_setup(test_silent_perf, reset),
        cmocka_unit_test_setup(test_silent_in_part, reset),
        cmocka_unit_test_setup(test_forced_and_refused, reset),
        cmocka_unit_test_setup(test_untestable, reset),
        cmocka_unit_test_setup(test_other_arguments, reset),
        cmocka_unit_test_setup(test_no_memory, reset),
        cmocka_unit_test_setup(test_of_another_daemon, reset),
#ifdef __x86_64__
        cmocka_unit_test_setup(test_32_bit_calls, reset),
#endif
        cmocka_unit_test_setup(test_without_tracefs, reset),
        cmocka_unit_test_setup(test_restricted, reset),
        cmocka_unit_test_setup(test_little_memory, reset),
        cmocka_unit_test_setup(test_without_privileges, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
