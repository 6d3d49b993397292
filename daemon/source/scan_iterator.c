// The iterator walks every descriptor of every process and writes a record for each diagnostic
// socket held by its owner. A read of few bytes ends after few records, and progress records come
// between, so one step is short however large the machine. It tells what was so when it passed by,
// and nothing is read of the process here, since a process can make that wait: the look at it finds
// out whether it still lives, and what its mapping allows.
// SPDX-License-Identifier: MIT
#include "scan_iterator.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "record.h"

void scan_iterator_init(ScanIterator *scan, Context *context) {
    *scan = (ScanIterator){.context = context, .fd = -1};
}

void scan_iterator_done(ScanIterator *scan) {
    scan->fd = safe_close(scan->fd);
    scan->used = 0;
}

int scan_iterator_start(ScanIterator *scan) {
    int fd = kernel_open_scan(&scan->context->kernel);
    if (fd < 0)
        return fd;
    scan->fd = fd;
    scan->used = 0;
    return 0;
}

static void take(Context *context, const struct discovery_record *record) {
    if (record->header.kind == DISCOVERY_RECORD_PROGRESS)
        return;
    Input input = translate_record(context->clocks, record, instant_now());
    context_yield(context, &input);
}

// A stream that is not understood at one place is not from there on: SCAN_FAILED.
static int decode(ScanIterator *scan) {
    size_t at = 0;
    for (;;) {
        struct discovery_record record;
        size_t size;
        RecordResult result = record_decode(scan->bytes + at, scan->used - at, &record, &size);
        if (result == RECORD_SHORT)
            break;
        if (result != RECORD_OK) {
            scan->context->counters.records_bad++;
            return SCAN_FAILED;
        }
        at += size;
        take(scan->context, &record);
    }
    memmove(scan->bytes, scan->bytes + at, scan->used - at);
    scan->used -= at;
    return SCAN_MORE;
}

static int step(ScanIterator *scan) {
    // What is left over is less than a record, so there is room for a whole read.
    ssize_t n = read(scan->fd, scan->bytes + scan->used, BOUND_SCAN_READ);
    if (n == 0)
        return SCAN_END;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return SCAN_MORE;
    if (n < 0) {
        log_debug("Reading the scan iterator failed: %s.", strerrorname_np(errno));
        return SCAN_FAILED;
    }
    scan->used += (size_t)n;
    return decode(scan);
}

int scan_iterator_step(ScanIterator *scan) {
    int r = step(scan);
    if (r != SCAN_MORE)
        scan_iterator_done(scan);
    return r;
}
