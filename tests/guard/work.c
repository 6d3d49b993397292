// guard_work CASE COUNT: does the work of one case COUNT times and tells what it allocated and what
// it holds at its fullest. Whoever counts its instructions runs it with 0, N and 2 N: the
// differences are those of the work alone.
// SPDX-License-Identifier: MIT
#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "cleanup.h"
#include "counting_malloc.h"
#include "ipc.h"
#include "macro.h"
#include "procfs_text.h"
#include "record.h"
#include "registry.h"
#include "text.h"
#include "varlink.h"

enum { START_US = 1000000, UIDS = 7 };

static size_t held; // bytes of the heap, at the fullest

static void note_held(void) {
    held = mallinfo2().uordblks;
}

// ---- wire: each takes the same bytes again and again

static void work_record(size_t count) {
    struct discovery_record record = {
        .header = {DISCOVERY_RECORD_VERSION, DISCOVERY_RECORD_LISTEN, sizeof record},
        .pid = 4711,
        .namespace_pid = 17,
        .command = "dotnet",
        .socket_path = "/tmp/dotnet-diagnostic-17-1234567-socket",
    };
    record.socket_path_length = (uint32_t)strlen(record.socket_path);
    for (size_t i = 0; i < count; i++) {
        struct discovery_record decoded;
        size_t used;
        RecordResult r = record_decode(&record, sizeof record, &decoded, &used);
        assert(r == RECORD_OK);
    }
}

static size_t put_text(uint8_t *to, const char *text) {
    size_t units = strlen(text) + 1;
    memset(to, 0, 4 + 2 * units);
    to[0] = (uint8_t)units;
    for (size_t i = 0; i < units; i++)
        to[4 + 2 * i] = (uint8_t)text[i];
    return 4 + 2 * units;
}

// ProcessInfo3 as a runtime answers it.
static size_t make_answer(uint8_t bytes[static 512]) {
    static const char *const texts[] = {
        "dotnet /srv/shop/Shop.dll --urls http://0.0.0.0:8080",
        "Linux",
        "x64",
        "Shop",
        "10.0.12+4f9b1c6d0a",
        "linux-x64",
    };
    ipc_request(IPC_VERSION_NEWEST, bytes);
    size_t size = IPC_HEADER_SIZE;
    memset(bytes + size, 1, 4 + 8 + 16);
    memcpy(bytes + size, "\1\0\0\0", 4);
    size += 4 + 8 + 16;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        size += put_text(bytes + size, texts[i]);
    bytes[14] = (uint8_t)size;
    bytes[15] = (uint8_t)(size >> 8);
    bytes[16] = 0xff;
    bytes[17] = 0;
    return size;
}

static void work_answer(size_t count) {
    uint8_t bytes[512];
    size_t size = make_answer(bytes);
    for (size_t i = 0; i < count; i++) {
        _cleanup_(ipc_process_info_done) IpcProcessInfo info = {0};
        size_t wanted;
        uint32_t code;
        const char *fault = NULL;
        int r = ipc_reply_parse(IPC_VERSION_NEWEST, bytes, size, &info, &wanted, &code, &fault);
        assert(r == IPC_OK);
    }
}

static void work_call(size_t count) {
    static const char call[] =
        "{\"method\":\"org.dotnetdiscovery.Manager.Subscribe\","
        "\"parameters\":{\"filter\":{\"uids\":[1000],\"commands\":[\"shop*\"]"
        "}},\"more\":true}";
    for (size_t i = 0; i < count; i++) {
        _cleanup_(varlink_call_done) VarlinkCall parsed = {0};
        const char *fault = NULL;
        ssize_t size = varlink_frame(call, sizeof call);
        int r = varlink_call_parse(call, (size_t)size, &parsed, &fault);
        assert(r == 0);
    }
}

static void work_reply(size_t count) {
    _cleanup_json_ json_t *parameters =
        json_pack("{s:s, s:I, s:{s:I, s:s, s:s}}", "kind", "changed", "sequence", (json_int_t)7,
                  "process", "pid", (json_int_t)4711, "state", "ready", "command", "dotnet");
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *frame = NULL;
        size_t size;
        int r = varlink_reply_format(parameters, true, &frame, &size);
        assert(r == 0);
    }
}

static void work_text(size_t count) {
    static const char text[] = "/srv/caf\xc3\xa9/Shop.dll\t--name=\xff";
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *escaped = text_escape(text, sizeof text - 1);
        assert(escaped);
    }
}

static void work_proc(size_t count) {
    static const char stat[] = "4711 (dotnet) S 1 4711 4711 0 -1 4194304 7521 0 12 0 24 9 0 0 20 0 "
                               "8 0 1234567 274877906944 21504 18446744073709551615 1 1 0 0 0 0 0";
    static const char status[] =
        "Name:\tdotnet\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4711\nNgid:\t0\nPid:\t4711\n"
        "PPid:\t1\nTracerPid:\t0\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n"
        "FDSize:\t256\nGroups:\t1000 \nNStgid:\t4711\t17\nNSpid:\t4711\t17\nVmPeak:\t2684 kB\n";
    static const char cgroup[] =
        "0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        ".scope\n";
    for (size_t i = 0; i < count; i++) {
        uint64_t start_ticks;
        StatusText life;
        _cleanup_free_ char *path = NULL, *container = NULL;
        int r = procfs_text_start_ticks(stat, &start_ticks);
        assert(r == 0);
        r = procfs_text_status(status, &life);
        assert(r == 0);
        r = cgroup_path(cgroup, &path);
        assert(r == 0);
        r = cgroup_container(cgroup, &container);
        assert(r == 0);
    }
}

// ---- core: COUNT lives at once, each input for one after another

typedef struct Course {
    Registry *registry;
    Actions actions;
    uint64_t now_us;
} Course;

static void feed(Course *course, Input input) {
    Instant now = {.boottime_us = course->now_us, .realtime_us = course->now_us};
    int r = registry_feed(course->registry, &input, now, &course->actions);
    assert(r == 0);
    actions_clear(&course->actions);
}

static void begin(Course *course, size_t count) {
    const RegistryLimits limits = {.processes = 4 * count + 64, .processes_per_uid = count + 64};
    *course = (Course){.now_us = START_US};
    int r = registry_new(&limits, &course->registry);
    assert(r == 0);
}

static void signal_all(Course *course, size_t count) {
    for (size_t i = 0; i < count; i++)
        feed(course, (Input){.kind = INPUT_SIGNAL,
                             .signal = {.kind = SIGNAL_LISTEN,
                                        .key = {.pid = (pid_t)(i + 10), .start_ticks = i},
                                        .uid = (uid_t)(i % UIDS),
                                        .command = "dotnet",
                                        .protection = PROTECTION_UNKNOWN,
                                        .socket_path = "/tmp/dotnet-diagnostic-1-1-socket",
                                        .seen = {.boottime_us = course->now_us}}});
}

static void end(Course *course) {
    note_held();
    actions_done(&course->actions);
    registry_free(course->registry);
}

static void work_life(size_t count) {
    Course course;
    begin(&course, count);
    signal_all(&course, count);
    for (size_t i = 0; i < count; i++) {
        Facts *facts = facts_new();
        assert(facts);
        facts->executable = strdup("/usr/share/dotnet/dotnet");
        facts->socket_path = strdup("/tmp/dotnet-diagnostic-1-1-socket");
        feed(&course, (Input){.kind = INPUT_PROBED, .probed = {.serial = i + 1, .facts = facts}});
    }
    note_held();
    size_t fullest = held;
    for (size_t i = 0; i < count; i++)
        feed(&course, (Input){.kind = INPUT_EXIT, .exit = {.serial = i + 1}});
    end(&course);
    held = fullest;
}

// Each is told of once more, as a scan or the second signal does.
static void work_again(size_t count) {
    Course course;
    begin(&course, count);
    signal_all(&course, count);
    signal_all(&course, count);
    end(&course);
}

// None answers, each is tried again when its time has come.
static void work_retry(size_t count) {
    Course course;
    begin(&course, count);
    signal_all(&course, count);
    for (size_t i = 0; i < count; i++)
        feed(&course, (Input){.kind = INPUT_PROBED,
                              .probed = {.serial = i + 1, .outcome = OUTCOME_REFUSED}});
    course.now_us += USEC_PER_SEC;
    while (registry_next_deadline(course.registry) <= course.now_us)
        feed(&course, (Input){.kind = INPUT_TIMER});
    end(&course);
}

// A reader goes from one to the next while every other one has ended.
static void work_walk(size_t count) {
    Course course;
    begin(&course, count);
    signal_all(&course, count);
    for (size_t i = 0; i < count; i += 2)
        feed(&course, (Input){.kind = INPUT_EXIT, .exit = {.serial = i + 1}});
    for (const Process *process = registry_next(course.registry, 0); process;)
        process = registry_next(course.registry, process->serial);
    end(&course);
}

static const struct {
    const char *name;
    void (*work)(size_t count);
} cases[] = {
    {"record", work_record}, {"answer", work_answer}, {"call", work_call}, {"reply", work_reply},
    {"text", work_text},     {"proc", work_proc},     {"life", work_life}, {"again", work_again},
    {"retry", work_retry},   {"walk", work_walk},
};

int main(int argc, char *argv[]) {
    for (size_t i = 0; argc == 3 && i < ELEMENTS_OF(cases); i++) {
        if (strcmp(argv[1], cases[i].name) != 0)
            continue;
        note_held();
        size_t before = held;
        cases[i].work(strtoul(argv[2], NULL, 10));
        printf("%ju %zu\n", (uintmax_t)counted_allocations, held - before);
        return 0;
    }
    fputs("usage: guard_work CASE COUNT\n", stderr);
    return 2;
}
