// One scan at a time, a step at a time, and at most one begun in a second: however often somebody
// asks, or makes the kernel side lose records so that we ask ourselves, the cost stays the same.
// Where nothing else tells what starts they follow one another, as scan_interval.h says.
// SPDX-License-Identifier: MIT
#include "scanner.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "log.h"
#include "scan_interval.h"

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata);

int scanner_init(Scanner *scanner, Context *context) {
    *scanner = (Scanner){.context = context};
    scan_iterator_init(&scanner->iterator, context);
    scan_proc_init(&scanner->proc, context);
    int r =
        sd_event_add_time(context->event, &scanner->timer, CLOCK_BOOTTIME, 0, 0, on_timer, scanner);
    if (r >= 0)
        r = sd_event_source_set_enabled(scanner->timer, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_exit_on_failure(scanner->timer, true);
    return r < 0 ? r : 0;
}

void scanner_done(Scanner *scanner) {
    sd_event_source_disable_unref(scanner->turn);
    sd_event_source_disable_unref(scanner->timer);
    scan_iterator_done(&scanner->iterator);
    scan_proc_done(&scanner->proc);
    scanner->turn = scanner->timer = NULL;
}

// SCAN_MORE, or SCAN_FAILED where nothing can be scanned now.
static int begin_proc(Scanner *scanner) {
    int r = scan_proc_start(&scanner->proc);
    if (r >= 0)
        return SCAN_MORE;
    log_debug("A scan of /proc could not begin: %s.", strerrorname_np(-r));
    scanner->context->counters.scan_failures++;
    return SCAN_FAILED;
}

// Of this thread: what a scan costs the host, however busy that is otherwise.
static uint64_t cpu_us(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) < 0)
        return 0;
    return (uint64_t)time.tv_sec * USEC_PER_SEC + (uint64_t)time.tv_nsec / NSEC_PER_USEC;
}

static int open_scan(Scanner *scanner) {
    int r = scan_iterator_start(&scanner->iterator);
    if (r >= 0)
        return SCAN_MORE;
    if (r != -EOPNOTSUPP) {
        log_debug("The scan iterator could not be opened: %s.", strerrorname_np(-r));
        scanner->context->counters.scan_failures++;
    }
    return begin_proc(scanner);
}

static int read_scan(Scanner *scanner) {
    if (scanner->iterator.fd >= 0) {
        int r = scan_iterator_step(&scanner->iterator);
        if (r != SCAN_FAILED)
            return r;
        scanner->context->counters.scan_failures++;
        return begin_proc(scanner);
    }
    int r = scan_proc_step(&scanner->proc);
    if (r == SCAN_FAILED)
        scanner->context->counters.scan_failures++;
    return r;
}

// What else the loop does between two steps is no part of what a scan costs.
static int measure(Scanner *scanner, int (*part)(Scanner *scanner)) {
    uint64_t before_us = cpu_us();
    int r = part(scanner);
    scanner->cost_us += cpu_us() - before_us;
    return r;
}

static int begin(Scanner *scanner) {
    scanner->phase = SCANNER_RUNNING;
    scanner->started_us = instant_now().boottime_us;
    scanner->cost_us = 0;
    if (scanner->prepare)
        scanner->prepare(scanner->userdata);
    return measure(scanner, open_scan);
}

static int step(Scanner *scanner) {
    return measure(scanner, read_scan);
}

static int arrange_scan(Scanner *scanner, uint64_t due_us) {
    int r = sd_event_source_set_time(scanner->timer, due_us);
    if (r >= 0)
        r = sd_event_source_set_enabled(scanner->timer, SD_EVENT_ONESHOT);
    if (r < 0)
        return r;
    scanner->phase = SCANNER_WAITING;
    return 0;
}

void scanner_repeat(Scanner *scanner, ScannerPrepare prepare, void *userdata) {
    scanner->at_interval = true;
    scanner->interval_us = scan_interval_us(0, 0);
    scanner->prepare = prepare;
    scanner->userdata = userdata;
}

uint64_t scanner_interval_us(const Scanner *scanner) {
    return scanner->at_interval ? scanner->interval_us : 0;
}

// What a scan that failed did not see nobody may ever tell of: another follows by itself.
static int finish(Scanner *scanner, int result) {
    scanner->phase = SCANNER_IDLE;
    uint64_t *failing = &scanner->context->counters.scans_failing;
    *failing = result == SCAN_FAILED ? *failing + 1 : 0;
    scanner->interval_us = scan_interval_us(scanner->cost_us, *failing);
    if (scanner->again) {
        scanner->again = false;
        return scanner_request(scanner);
    }
    if (*failing > 0 || scanner->at_interval)
        return arrange_scan(scanner, scanner->started_us + scanner->interval_us);
    return 0;
}

static int on_turn(sd_event_source *source, void *userdata);

// A new source each time: among sources of one priority the loop takes the one that waits longest,
// and counts a re-enabled deferred one as waiting since it was made.
static int add_turn(Scanner *scanner) {
    scanner->turn = sd_event_source_disable_unref(scanner->turn);
    int r = sd_event_add_defer(scanner->context->event, &scanner->turn, on_turn, scanner);
    if (r >= 0)
        r = sd_event_source_set_priority(scanner->turn, PRIORITY_TURNS);
    if (r >= 0)
        r = sd_event_source_set_exit_on_failure(scanner->turn, true);
    return r < 0 ? r : 0;
}

// A scan that cannot go on ends here as one that failed, which is no reason to end the loop.
static int arrange_turn(Scanner *scanner) {
    if (add_turn(scanner) == 0)
        return 0;
    scanner->turn = sd_event_source_disable_unref(scanner->turn);
    scan_iterator_done(&scanner->iterator);
    scan_proc_done(&scanner->proc);
    scanner->context->counters.scan_failures++;
    return finish(scanner, SCAN_FAILED);
}

static int begin_in_loop(Scanner *scanner) {
    scanner->context->counters.rescans++;
    int r = begin(scanner);
    return r == SCAN_MORE ? arrange_turn(scanner) : finish(scanner, r);
}

static int on_turn(__attribute__((unused)) sd_event_source *source, void *userdata) {
    Scanner *scanner = userdata;
    if (scanner->phase == SCANNER_DUE)
        return begin_in_loop(scanner);
    if (scanner->phase != SCANNER_RUNNING)
        return 0;
    int r = step(scanner);
    return r == SCAN_MORE ? arrange_turn(scanner) : finish(scanner, r);
}

static int on_timer(__attribute__((unused)) sd_event_source *source,
                    __attribute__((unused)) uint64_t usec, void *userdata) {
    return begin_in_loop(userdata);
}

int scanner_request(Scanner *scanner) {
    if (scanner->phase == SCANNER_RUNNING)
        scanner->again = true;
    if (scanner->phase == SCANNER_RUNNING || scanner->phase == SCANNER_DUE)
        return 0;
    // One that waits may wait longer than whoever asks needs to.
    uint64_t due_us = scanner->started_us + scan_interval_us(0, 0);
    if (scanner->started_us > 0 && due_us > instant_now().boottime_us)
        return arrange_scan(scanner, due_us);
    int r = sd_event_source_set_enabled(scanner->timer, SD_EVENT_OFF);
    if (r < 0)
        return r;
    // Not before whoever asks has returned, who may be in the middle of reading records.
    scanner->phase = SCANNER_DUE;
    return arrange_turn(scanner);
}

int scanner_run(Scanner *scanner) {
    // This is the scan that was asked for meanwhile, where one was.
    scanner->turn = sd_event_source_disable_unref(scanner->turn);
    int r = sd_event_source_set_enabled(scanner->timer, SD_EVENT_OFF);
    if (r < 0)
        return r;
    r = begin(scanner);
    while (r == SCAN_MORE)
        r = step(scanner);
    return finish(scanner, r);
}
