// One scan at a time, a step at a time, and at most one begun in a second: however often somebody
// asks, or makes the kernel side lose records so that we ask ourselves, the cost stays the same.
// SPDX-License-Identifier: MIT
#include "scanner.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "bounds.h"
#include "log.h"

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

static int begin(Scanner *scanner) {
    scanner->phase = SCANNER_RUNNING;
    scanner->started_us = instant_now().boottime_us;
    int r = scan_iterator_start(&scanner->iterator);
    if (r >= 0)
        return SCAN_MORE;
    if (r != -EOPNOTSUPP) {
        log_debug("The scan iterator could not be opened: %s.", strerrorname_np(-r));
        scanner->context->counters.scan_failures++;
    }
    return begin_proc(scanner);
}

static int step(Scanner *scanner) {
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

static int arrange_scan(Scanner *scanner, uint64_t due_us) {
    int r = sd_event_source_set_time(scanner->timer, due_us);
    if (r >= 0)
        r = sd_event_source_set_enabled(scanner->timer, SD_EVENT_ONESHOT);
    if (r < 0)
        return r;
    scanner->phase = SCANNER_WAITING;
    return 0;
}

// When one may begin after `failing` in a row that ended early.
static uint64_t due(const Scanner *scanner, uint64_t failing) {
    if (scanner->started_us == 0)
        return 0;
    uint64_t doublings = failing < BOUND_SCAN_DOUBLINGS ? failing : BOUND_SCAN_DOUBLINGS;
    return scanner->started_us + ((BOUND_SCAN_INTERVAL_MS * USEC_PER_MSEC) << doublings);
}

// What a scan that failed did not see nobody may ever tell of: another follows by itself.
static int finish(Scanner *scanner, int result) {
    scanner->phase = SCANNER_IDLE;
    uint64_t *failing = &scanner->context->counters.scans_failing;
    *failing = result == SCAN_FAILED ? *failing + 1 : 0;
    if (scanner->again) {
        scanner->again = false;
        return scanner_request(scanner);
    }
    return *failing > 0 ? arrange_scan(scanner, due(scanner, *failing - 1)) : 0;
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

static int on_turn(__attribute__((unused)) sd_event_source *source, void *userdata) {
    Scanner *scanner = userdata;
    int r = step(scanner);
    return r == SCAN_MORE ? arrange_turn(scanner) : finish(scanner, r);
}

static int begin_in_loop(Scanner *scanner) {
    scanner->context->counters.rescans++;
    int r = begin(scanner);
    return r == SCAN_MORE ? arrange_turn(scanner) : finish(scanner, r);
}

static int on_timer(__attribute__((unused)) sd_event_source *source,
                    __attribute__((unused)) uint64_t usec, void *userdata) {
    return begin_in_loop(userdata);
}

int scanner_request(Scanner *scanner) {
    if (scanner->phase == SCANNER_RUNNING) {
        scanner->again = true;
        return 0;
    }
    // One that waits may wait longer than whoever asks needs to.
    uint64_t due_us = due(scanner, 0);
    if (due_us > instant_now().boottime_us)
        return arrange_scan(scanner, due_us);
    int r = sd_event_source_set_enabled(scanner->timer, SD_EVENT_OFF);
    return r < 0 ? r : begin_in_loop(scanner);
}

int scanner_run(Scanner *scanner) {
    int r = begin(scanner);
    while (r == SCAN_MORE)
        r = step(scanner);
    return finish(scanner, r);
}
