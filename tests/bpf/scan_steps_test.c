// However many processes and files a host has, and though none of them is a .NET one: no read of
// the iterator walks past more than so many of them. The kernel side says when it comes to a
// process and after so many files, and what it says fills the read. And what all reads of a scan
// take, they alone, decides when the next follows.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "bounds.h"
#include "fake_scan.h"
#include "harness.h"

enum {
    PROCESSES = 400, // within the usual 1024 descriptors
    HOARDERS = 48,
    HOARD = 960,
    FILES_PER_RECORD = 64,
    DEAR_READS = 2, // as the test's clock has it
    READ_US = 100 * USEC_PER_MSEC,
    OTHERS_US = USEC_PER_SEC,
    // What fits into a read, and what was left over of the one before.
    RECORDS_PER_READ = BOUND_SCAN_READ / sizeof(struct discovery_record_header) + 1,
};

static size_t reads;
static size_t progress;        // records of this kind, of all reads
static size_t progress_of_one; // of the read under way
static size_t progress_at_most;
static bool ended;
static uint64_t cpu_us; // of the daemon's thread

int __wrap_scan_iterator_step(ScanIterator *scan) {
    reads++;
    progress_of_one = 0;
    cpu_us += reads <= DEAR_READS ? READ_US : 0;
    int r = __real_scan_iterator_step(scan);
    ended = r == SCAN_END;
    progress += progress_of_one;
    progress_at_most = progress_of_one > progress_at_most ? progress_of_one : progress_at_most;
    return r;
}

RecordResult __wrap_record_decode(const void *bytes, size_t size, struct discovery_record *ret,
                                  size_t *ret_size) {
    RecordResult result = __real_record_decode(bytes, size, ret, ret_size);
    progress_of_one += result == RECORD_OK && ret->header.kind == DISCOVERY_RECORD_PROGRESS;
    return result;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret) {
    if (clock != CLOCK_THREAD_CPUTIME_ID)
        return __real_clock_gettime(clock, ret);
    *ret = (struct timespec){.tv_sec = (time_t)(cpu_us / USEC_PER_SEC),
                             .tv_nsec = (long)(cpu_us % USEC_PER_SEC * NSEC_PER_USEC)};
    return 0;
}

static void keep_only(int fd) {
    for (int other = 0; other < fd; other++)
        close(other);
    closefrom(fd + 1);
}

static void run_poor(int control, __attribute__((unused)) const void *argument) {
    keep_only(control);
}

static void run_hoarder(int control, __attribute__((unused)) const void *argument) {
    keep_only(control);
    for (int i = 0; i < HOARD; i++)
        MUST(open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0);
}

// Scans while so many run this; each is to bring so many records of progress at least.
static void check(ChildBody body, size_t count, size_t records_of_each) {
    Child children[PROCESSES];
    for (size_t i = 0; i < count; i++)
        children[i] = child_start(body, NULL);
    Harness harness;
    harness_init(&harness, NULL);
    reads = progress = progress_at_most = 0;
    assert_int_equal(source_scan(harness.source), 0);
    assert_int_equal(source_counters(harness.source)->scan_failures, 0);
    assert_true(progress >= count * records_of_each);
    assert_true(progress_at_most <= RECORDS_PER_READ);
    assert_true(reads >= count * records_of_each / RECORDS_PER_READ);
    harness_done(&harness);
    for (size_t i = 0; i < count; i++)
        child_end(&children[i]);
}

static void test_many_processes(__attribute__((unused)) void **state) {
    check(run_poor, PROCESSES, 1);
}

static void test_many_files(__attribute__((unused)) void **state) {
    check(run_hoarder, HOARDERS, HOARD / FILES_PER_RECORD);
}

// Comes between two turns of the loop, as all else that the loop does.
static bool has_ended(__attribute__((unused)) const Harness *harness,
                      __attribute__((unused)) const void *argument) {
    cpu_us += OTHERS_US;
    return ended;
}

static void test_the_interval_is_of_the_reads_alone(__attribute__((unused)) void **state) {
    Harness harness;
    harness_init_by(&harness, MECHANISM_SCAN, NULL);
    reads = 0;
    ended = false;
    assert_int_equal(source_rescan(harness.source), 0);
    harness_run(&harness, has_ended, NULL);
    assert_true(reads >= DEAR_READS);
    assert_int_equal(source_scan_interval_us(harness.source), 100 * DEAR_READS * READ_US);
    harness_done(&harness);
}

int main(void) {
    harness_skip_unless_privileged();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_processes),
        cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_the_interval_is_of_the_reads_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
