// procfs_text.c against text of real kernels, and text that a process chose to deceive with.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>

#include "cleanup.h"
#include "exact.h"
#include "macro.h"
#include "procfs_text.h"

#define STAT_BEFORE " 16817 16813 6094 0 -1 4194304 505 0 0 0 0 0 0 0 20 0 3 0 "
#define STAT_AFTER                                                                         \
    " 2296307712 2156 18446744073709551615 94177960291248 94177960334768 140726823466672 " \
    "0 0 0 0 4096 17662 0 0 0 17 1 0 0 0 0 0 94177960344496 0\n"

// A state of 0: not a stat.
static const struct {
    const char *stat;
    char state;
    uint64_t start_ticks;
} stats[] = {
    {"16858 (dotnet) S" STAT_BEFORE "127493" STAT_AFTER, 'S', 127493},
    {"1 (systemd) S 0 1 1 0 -1 4194560 30 20 1 2 3 4 5 6 20 0 1 0 18446744073709551615 1 2\n", 'S',
     UINT64_MAX},
    {"2 (kthreadd) I" STAT_BEFORE "0" STAT_AFTER, 'I', 0},
    {"131072 (.NET EventPipe) t" STAT_BEFORE "7" STAT_AFTER, 't', 7},
    // Field 2 may hold anything.
    {"9 (x) R 1) R" STAT_BEFORE "42" STAT_AFTER, 'R', 42},
    {"9 ()) Z 1 2 3 () Z" STAT_BEFORE "42" STAT_AFTER, 'Z', 42},
    {"9 (a\nb) D" STAT_BEFORE "42" STAT_AFTER, 'D', 42},
    {"9 () X" STAT_BEFORE "42" STAT_AFTER, 'X', 42},
    {"9 ((((() K" STAT_BEFORE "42" STAT_AFTER, 'K', 42},
    {"9 (\xff\x01) W" STAT_BEFORE "42" STAT_AFTER, 'W', 42},

    {"", 0, 0},
    {"\n", 0, 0},
    {"dotnet", 0, 0},
    {"9 (dotnet", 0, 0},
    {"9 (dotnet)", 0, 0},
    {"9 (dotnet) ", 0, 0},
    {"9 (dotnet) S", 0, 0},
    {"9 (dotnet)S" STAT_BEFORE "42" STAT_AFTER, 0, 0},
    {"9 (dotnet) SS" STAT_BEFORE "42" STAT_AFTER, 0, 0},
    {"9 (dotnet) 5" STAT_BEFORE "42" STAT_AFTER, 0, 0},
    {"9 dotnet) S" STAT_BEFORE "42" STAT_AFTER, 0, 0},
    {"x (dotnet) S" STAT_BEFORE "42" STAT_AFTER, 0, 0},
    {"(dotnet) S" STAT_BEFORE "42" STAT_AFTER, 0, 0},
};

static void each_stat_gives_its_state_and_start(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(stats); i++) {
        int expected = stats[i].state ? 0 : -EBADMSG;
        char letter = 0;
        uint64_t ticks = 0;
        if (procfs_text_run_state(stats[i].stat, &letter) != expected ||
            procfs_text_start_ticks(stats[i].stat, &ticks) != expected)
            fail_msg("%s", stats[i].stat);
        assert_int_equal(letter, stats[i].state);
        assert_int_equal(ticks, stats[i].start_ticks);
    }
}

static void a_start_time_must_be_a_whole_number(void **state) {
    (void)state;
    static const char *const bad[] = {
        "9 (a) S" STAT_BEFORE "-1" STAT_AFTER,
        "9 (a) S" STAT_BEFORE "18446744073709551616" STAT_AFTER,
        "9 (a) S" STAT_BEFORE "4x" STAT_AFTER,
        "9 (a) S" STAT_BEFORE " 4" STAT_AFTER,
        "9 (a) S" STAT_BEFORE "42\n",
        "9 (a) S" STAT_BEFORE "42",
        ("9 (a) S" STAT_BEFORE),
        "9 (a) S x 16813 6094 0 -1 4194304 505 0 0 0 0 0 0 0 20 0 3 0 42 1\n",
        "9 (a) S  16817 16813 6094 0 -1 4194304 505 0 0 0 0 0 0 0 20 0 3 0 42 1\n",
    };
    for (size_t i = 0; i < ELEMENTS_OF(bad); i++) {
        uint64_t ticks = 77;
        if (procfs_text_start_ticks(bad[i], &ticks) != -EBADMSG)
            fail_msg("%s", bad[i]);
        assert_int_equal(ticks, 77);
    }
}

static void a_torn_stat_has_the_right_start_or_none(void **state) {
    (void)state;
    for (size_t i = 0; stats[i].state; i++) {
        for (size_t size = 0; size < strlen(stats[i].stat); size++) {
            _cleanup_free_ char *stat = exact_text(stats[i].stat, size);
            uint64_t ticks;
            if (procfs_text_start_ticks(stat, &ticks) == 0)
                assert_int_equal(ticks, stats[i].start_ticks);
        }
    }
}

#define STATUS_BEFORE "Umask:\t0022\nState:\tS (sleeping)\n"
#define STATUS_AFTER \
    "NSpgid:\t16813\nNSsid:\t6094\nVmPeak:\t 2308008 kB\nThreads:\t3\nSigQ:\t0/96365\n"

static const char good_status[] =
    "Name:\tdotnet\n" STATUS_BEFORE "Tgid:\t16858\nNgid:\t0\nPid:\t16858\nPPid:\t16817\n"
    "TracerPid:\t0\nUid:\t1000\t1001\t1002\t1003\nGid:\t100\t101\t102\t103\nFDSize:\t256\n"
    "Groups:\t4 24 27 \nNStgid:\t16858\t33\t1\nNSpid:\t16858\t33\t1\n" STATUS_AFTER;

static const struct {
    const char *status;
    int result;
    StatusText text;
} statuses[] = {
    {good_status,
     0,
     {.uid = 1001,
      .gid = 101,
      .uids = {1000, 1001, 1002, 1003},
      .tgid = 16858,
      .namespace_pid = 1}},
    {"Name:\tcat\nTgid:\t9482\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t \nNSpid:\t9482\n"
     "Threads:\t1\n",
     0,
     {.tgid = 9482, .namespace_pid = 9482}},
    // A kernel without pid namespaces has no such line.
    {"Name:\tcat\nTgid:\t9482\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t \nThreads:\t1\n",
     0,
     {.tgid = 9482, .namespace_pid = 9482}},
    // The line may be in the part that was not read: many groups stand before it.
    {"Name:\tcat\nTgid:\t9482\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t1 2 3 4 5",
     0,
     {.tgid = 9482}},
    {"Name:\tcat\nTgid:\t9482\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t9482\t1",
     0,
     {.tgid = 9482}},
    {"Name:\tcat\nTgid:\t9482\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t9482\tx\nThreads:\t1\n",
     0,
     {.tgid = 9482}},
    // The kernel escapes the one line that a process can write.
    {"Name:\ta\\nTgid:\\t1\nTgid:\t7\nUid:\t5\t6\t5\t5\nGid:\t8\t9\t8\t8\nNSpid:\t7\n",
     0,
     {.uid = 6, .gid = 9, .uids = {5, 6, 5, 5}, .tgid = 7, .namespace_pid = 7}},
    {"Name:\tUid:\t0\nTgid:\t7\nUid:\t5\t6\t5\t5\nGid:\t8\t9\t8\t8\nNSpid:\t7\n",
     0,
     {.uid = 6, .gid = 9, .uids = {5, 6, 5, 5}, .tgid = 7, .namespace_pid = 7}},
    {"Tgid:\t2147483647\nUid:\t0\t4294967294\t0\t0\nGid:\t0\t4294967294\t0\t0\nNSpid:\t1\n",
     0,
     {.uid = 4294967294,
      .gid = 4294967294,
      .uids = {0, 4294967294, 0, 0},
      .tgid = 2147483647,
      .namespace_pid = 1}},

    {"", -EBADMSG, {0}},
    {"Name:\tcat\n", -EBADMSG, {0}},
    {"Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid:\t7\nGid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid:\t7\nUid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t0\n", -ESRCH, {0}},
    {"Tgid:\t2147483648\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid:\t-7\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid: 7\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid:\t7\nUid:\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid:\t7\nUid:\t0\t0\t0\t4294967295\nGid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid:\t7\nUid:\t0\nGid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid:\t7\nUid:\t0\t4294967295\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
    {"Tgid:\t7\nUid:\t0\t0\t0\t0\nGid:\t0\tx\t0\t0\nNSpid:\t7\n", -EBADMSG, {0}},
};

static void assert_status_equal(const char *what, const StatusText *got, const StatusText *wanted) {
    if (got->uid != wanted->uid || got->gid != wanted->gid || got->tgid != wanted->tgid ||
        got->namespace_pid != wanted->namespace_pid)
        fail_msg("uid %u gid %u tgid %d namespace pid %d: %s", got->uid, got->gid, got->tgid,
                 got->namespace_pid, what);
    assert_memory_equal(got->uids, wanted->uids, sizeof wanted->uids);
}

static void each_status_gives_its_ids(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(statuses); i++) {
        StatusText text = {0};
        if (procfs_text_status(statuses[i].status, &text) != statuses[i].result)
            fail_msg("%s", statuses[i].status);
        assert_status_equal(statuses[i].status, &text, &statuses[i].text);
    }
}

static void a_torn_status_never_has_a_wrong_id(void **state) {
    (void)state;
    const StatusText whole = statuses[0].text;
    StatusText without = whole;
    without.namespace_pid = 0;
    size_t ids_end = (size_t)(strstr(good_status, "\nFDSize") - good_status) + 1;
    size_t pid_end = (size_t)(strstr(good_status, "\nNSpgid") - good_status) + 1;

    for (size_t size = 0; size <= strlen(good_status); size++) {
        _cleanup_free_ char *status = exact_text(good_status, size);
        StatusText text = {0};
        int r = procfs_text_status(status, &text);
        assert_int_equal(r, size < ids_end ? -EBADMSG : 0);
        if (r == 0)
            assert_status_equal(status, &text, size < pid_end ? &without : &whole);
    }
}

#define MAPPING "/memfd:dotnet_ipc_created (deleted)"

// A protection of -1: another mapping.
static const struct {
    const char *line;
    int protection;
} maps[] = {
    // Of .NET 10.0.12, and of programs made to look like it.
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 1801                       " MAPPING, 0},
    {"7f7267f70000-7f7267f71000 r--s 00000000 00:01 8327                       " MAPPING,
     PROT_READ},
    {"7f7267f70000-7f7267f71000 ---s 00000000 00:01 8327                       " MAPPING, 0},
    {"7f0e8cc82000-7f0e8cc83000 r-xp 00000000 00:01 1801                       " MAPPING,
     PROT_READ | PROT_EXEC},
    {"7f0e8cc82000-7f0e8cc83000 rwxp 00000000 00:01 1801                       " MAPPING,
     PROT_READ | PROT_WRITE | PROT_EXEC},
    {"7f0e8cc82000-7f0e8cc83000 -w-p 00000000 00:01 1801                       " MAPPING,
     PROT_WRITE},
    {"7f0e8cc82000-7f0e8cc83000 --xp 00000000 00:05 1801                       " MAPPING,
     PROT_EXEC},
    {"ffffffffff600000-ffffffffff601000 ---p 00001000 00:10 18446744073709551615 " MAPPING, 0},
    {"08048000-08049000 ---p 00000000 00:01 1801       " MAPPING, 0},
    // A tmpfs mounted on the root: nothing in the line tells it apart.
    {"7f7267dba000-7f7267dbb000 r--s 00000000 00:1b 5                          " MAPPING,
     PROT_READ},

    // A file in the root directory of a disk, deleted.
    {"7f7267dbb000-7f7267dbc000 r--p 00000000 fe:00 793                        " MAPPING, -1},
    {"7f7267dbb000-7f7267dbc000 r--p 00000000 103:05 793                       " MAPPING, -1},
    // Files elsewhere, memfds with other names.
    {"7f7267dba000-7f7267dbb000 r--s 00000000 00:1b 5                          /dev/shm" MAPPING,
     -1},
    {"7f7267f6f000-7f7267f70000 r--p 00000000 00:01 8328                       " MAPPING
     " (deleted)",
     -1},
    {"7f7267f6e000-7f7267f6f000 r-xp 00000000 00:01 8329                       "
     "/memfd:dotnet_ipc_created\\012 (deleted)",
     -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 1801                       "
     "/memfd:dotnet_ipc_created",
     -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 1801                       "
     "/memfd:dotnet_ipc_create (deleted)",
     -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 1801                       "
     "/memfd:dotnet_ipc_created2 (deleted)",
     -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 1801                       "
     "/memfd:Dotnet_ipc_created (deleted)",
     -1},
    {"7f0e0ce50000-7f0e0ce51000 r-xs 00000000 00:01 1800                       "
     "/memfd:doublemapper (deleted)",
     -1},
    {"558854e15000-558854e17000 r--p 00000000 fe:00 247270                     /usr/bin/cat", -1},
    {"7ffc8a5e1000-7ffc8a602000 rw-p 00000000 00:00 0                          [stack]", -1},
    {"7f0e8cc86000-7f0e8cc88000 rw-p 00000000 00:00 0 ", -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:00 0                          [anon:" MAPPING "]",
     -1},

    // Not lines of maps.
    {"", -1},
    {MAPPING, -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 0 " MAPPING, -1},
    {"7f0e8cc82000-7f0e8cc83000 --- 00000000 00:01 1801 " MAPPING, -1},
    {"7f0e8cc82000-7f0e8cc83000 ---x 00000000 00:01 1801 " MAPPING, -1},
    {"7f0e8cc82000-7f0e8cc83000 w--p 00000000 00:01 1801 " MAPPING, -1},
    {"7f0e8cc82000-7f0e8cc83000 R--p 00000000 00:01 1801 " MAPPING, -1},
    {"7f0e8cc82000 7f0e8cc83000 ---p 00000000 00:01 1801 " MAPPING, -1},
    {"-7f0e8cc83000 ---p 00000000 00:01 1801 " MAPPING, -1},
    {"0x7f-7f0e8cc83000 ---p 00000000 00:01 1801 " MAPPING, -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 0001 1801 " MAPPING, -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 x " MAPPING, -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 18446744073709551616 " MAPPING, -1},
    {"17f0e8cc82000f0e8-7f0e8cc83000 ---p 00000000 00:01 1801 " MAPPING, -1},
    {"7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 1801 " MAPPING "\n", -1},
};

static void each_mapping_is_told_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(maps); i++) {
        int protection = -1;
        if (procfs_text_is_mapping(maps[i].line, &protection) != (maps[i].protection >= 0))
            fail_msg("%s", maps[i].line);
        assert_int_equal(protection, maps[i].protection);
    }
}

static void no_part_of_a_line_is_the_mapping(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(maps); i++) {
        // The last one has a newline behind what is the mapping.
        size_t whole = strcspn(maps[i].line, "\n");
        // Behind a deceiving memfd's name stands a second "(deleted)".
        if (strstr(maps[i].line, " (deleted) (deleted)"))
            continue;
        for (size_t size = 0; size < whole; size++) {
            _cleanup_free_ char *line = exact_text(maps[i].line, size);
            int protection = 77;
            assert_false(procfs_text_is_mapping(line, &protection));
            assert_int_equal(protection, 77);
        }
    }
}

// A result of INT64_MIN: not the file.
static const struct {
    const char *text;
    int64_t offset;
} offsets[] = {
    {"monotonic           0         0\nboottime            0         0\n", 0},
    {"monotonic           5         0\nboottime           -1         0\n", -1000000000},
    {"monotonic           0         0\nboottime       864000 500000000\n", 864000500000000},
    {"monotonic           0         0\nboottime           -1 999999999\n", -1},
    {"monotonic           0         0\nboottime  9223372036         0\n", 9223372036000000000},
    {"boottime            3         1\n", 3000000001},

    {"", INT64_MIN},
    {"monotonic           0         0\n", INT64_MIN},
    {"monotonic           0         0\nboottime", INT64_MIN},
    {"monotonic           0         0\nboottime            5", INT64_MIN},
    {"monotonic           0         0\nboottime            5         0", INT64_MIN},
    {"monotonic           0         0\nboottime            5         x\n", INT64_MIN},
    {"monotonic           0         0\nboottime           --5        0\n", INT64_MIN},
    {"monotonic           0         0\nboottime            5        -1\n", INT64_MIN},
    {"monotonic           0         0\nboottime            0 1000000000\n", INT64_MIN},
    {"monotonic           0         0\nboottime  9223372036 999999999\n", INT64_MIN},
    {"monotonic           0         0\nboottime  9223372037         0\n", INT64_MIN},
    {"monotonic           0         0\nboottime  99999999999999999999 0\n", INT64_MIN},
};

static void each_offset_is_read(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(offsets); i++) {
        int64_t offset = INT64_MIN;
        int r = procfs_text_boottime_offset(offsets[i].text, &offset);
        if (r != (offsets[i].offset == INT64_MIN ? -EBADMSG : 0) || offset != offsets[i].offset)
            fail_msg("%s: %d, %lld", offsets[i].text, r, (long long)offset);
    }
}

// An inode of 0: not a socket.
static const struct {
    const char *link;
    uint64_t inode;
} links[] = {
    {"socket:[63531]", 63531},
    {"socket:[18446744073709551615]", UINT64_MAX},
    {"socket:[18446744073709551616]", 0},
    {"socket:[63531] (deleted)", 0},
    {"socket:[63531", 0},
    {"socket:[]", 0},
    {"socket:[-1]", 0},
    {"socket:[ 1]", 0},
    {"socket:[0x1]", 0},
    {"socket:63531", 0},
    {" socket:[63531]", 0},
    {"/tmp/socket:[63531]", 0},
    {"pipe:[63531]", 0},
    {"anon_inode:[eventpoll]", 0},
    {"", 0},
};

static void each_link_is_told_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(links); i++) {
        uint64_t inode = 0;
        if (procfs_text_socket_link(links[i].link, &inode) != (links[i].inode != 0))
            fail_msg("%s", links[i].link);
        assert_int_equal(inode, links[i].inode);
        for (size_t size = 0; size < strlen(links[i].link); size++) {
            _cleanup_free_ char *link = exact_text(links[i].link, size);
            if (procfs_text_socket_link(link, &inode))
                assert_string_equal(link, "socket:[63531]");
        }
    }
}

static void a_protection_is_written_as_maps_writes_it(void **state) {
    (void)state;
    static const char *const texts[] = {
        [PROT_NONE] = "---p",
        [PROT_READ] = "r--p",
        [PROT_WRITE] = "-w-p",
        [PROT_EXEC] = "--xp",
        [PROT_READ | PROT_WRITE] = "rw-p",
        [PROT_READ | PROT_EXEC] = "r-xp",
        [PROT_WRITE | PROT_EXEC] = "-wxp",
        [PROT_READ | PROT_WRITE | PROT_EXEC] = "rwxp",
    };
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        char text[5];
        procfs_text_protection((int)i, text);
        assert_string_equal(text, texts[i]);
        procfs_text_protection((int)i | PROT_GROWSDOWN, text);
        assert_string_equal(text, texts[i]);
    }
}

static void a_status_tells_how_it_lives(void **state) {
    static const struct {
        const char *status;
        int result;
        StatusLife life;
    } cases[] = {
        {good_status, 0, {'S', true}},
        {"Name:\tx\nUmask:\t0022\nState:\tt (tracing stop)\nVmPeak:\t 8 kB\n", 0, {'t', true}},
        {"Name:\tx\nState:\tZ (zombie)\nThreads:\t1\n", 0, {'Z', false}},
        {"Name:\tx\nState:\tR (running)\nThreads:\t1\n", 0, {'R', false}},
        {"Name:\tState:\\nVmPeak:\nState:\tD (disk sleep)\n", 0, {'D', false}},
        {"Name:\tx\nState:\t(zombie)\n", -EBADMSG, {0}},
        {"Name:\tx\nState:\tS", -EBADMSG, {0}},
        {"Name:\tx\nState: S (sleeping)\n", -EBADMSG, {0}},
        {"Name:\tx\nTgid:\t1\nVmPeak:\t 8 kB\n", -EBADMSG, {0}},
        {"", -EBADMSG, {0}},
    };
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        StatusLife life = {0};
        if (procfs_text_status_life(cases[i].status, &life) != cases[i].result)
            fail_msg("%s", cases[i].status);
        if (cases[i].result == 0) {
            assert_int_equal(life.run_state, cases[i].life.run_state);
            assert_int_equal(life.has_memory, cases[i].life.has_memory);
        }
    }
    for (size_t size = 0; size <= strlen(good_status); size++) {
        _cleanup_free_ char *status = exact_text(good_status, size);
        StatusLife life;
        if (procfs_text_status_life(status, &life) == 0)
            assert_int_equal(life.run_state, 'S');
    }
}

static void a_runtime_is_known_by_what_it_maps(void **state) {
    static const struct {
        const char *line;
        const char *name;
    } cases[] = {
        {"7f0 r-xp 00000000 08:01 42   /usr/share/dotnet/shared/10.0.0/libcoreclr.so",
         "libcoreclr.so"},
        {"7f0 r-xp 00000000 08:01 42   /libcoreclr.so (deleted)", "libcoreclr.so"},
        {"7f0 rw-s 00000000 00:01 9    /memfd:doublemapper (deleted)", "memfd:doublemapper"},
        {"7f0 r-xp 00000000 08:01 42   /libcoreclr.so.1", NULL},
        {"7f0 r-xp 00000000 08:01 42   /xlibcoreclr.so", NULL},
        {"7f0 r-xp 00000000 08:01 42   /libcoreclr.so/other", NULL},
        {"7f0 r-xp 00000000 08:01 42   libcoreclr.so", NULL},
        {"7f0 rw-p 00000000 00:00 0    [heap]", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *name = procfs_text_runtime(cases[i].line);
        if (!cases[i].name)
            assert_null(name);
        else
            assert_string_equal(name, cases[i].name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stat_gives_its_state_and_start),
        cmocka_unit_test(a_start_time_must_be_a_whole_number),
        cmocka_unit_test(a_torn_stat_has_the_right_start_or_none),
        cmocka_unit_test(each_status_gives_its_ids),
        cmocka_unit_test(a_torn_status_never_has_a_wrong_id),
        cmocka_unit_test(a_status_tells_how_it_lives),
        cmocka_unit_test(each_mapping_is_told_apart),
        cmocka_unit_test(a_runtime_is_known_by_what_it_maps),
        cmocka_unit_test(no_part_of_a_line_is_the_mapping),
        cmocka_unit_test(each_offset_is_read),
        cmocka_unit_test(each_link_is_told_apart),
        cmocka_unit_test(a_protection_is_written_as_maps_writes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
