// What the administrator reads where there is no journal, and what the service manager is told.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "announce.h"
#include "bounds.h"
#include "cleanup.h"
#include "log.h"
#include "macro.h"

typedef struct Capture {
    int saved; // standard error as it was
    int pipe;
} Capture;

static Capture capture_begin(void) {
    int ends[2];
    unsetenv("JOURNAL_STREAM");
    assert_int_equal(pipe(ends), 0);
    Capture capture = {.saved = dup(STDERR_FILENO), .pipe = ends[0]};
    fflush(stderr);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    return capture;
}

static void capture_skip(const Capture *capture) {
    fflush(stderr);
    dup2(capture->saved, STDERR_FILENO);
    close(capture->saved);
    close(capture->pipe);
}

static void capture_end(Capture *capture, const char *expected) {
    char text[8192];
    fflush(stderr);
    dup2(capture->saved, STDERR_FILENO);
    close(capture->saved);
    ssize_t size = read(capture->pipe, text, sizeof text - 1);
    close(capture->pipe);
    assert_true(size >= 0);
    text[size] = '\0';
    assert_string_equal(text, expected);
}

static char hostile[] = "App\x1b[2J\n\xff";
static char detail[] = "connect: ECONNREFUSED";
static const Facts facts = {.entry_assembly = hostile, .runtime_version = (char[]){"10.0.5"}};

static const struct {
    State before;
    State after;
    bool is_new;
    bool with_facts;
    int level;
    const char *line;
} changes[] = {
    {STATE_GONE, STATE_DETECTED, true, false, LOG_INFO, ""},
    {STATE_GONE, STATE_DETECTED, true, false, LOG_DEBUG,
     "Process 42 (do\\x1bt) may be diagnosable soon.\n"},
    {STATE_DETECTED, STATE_READY, false, true, LOG_INFO,
     "Process 42 (App\\x1b[2J\\x0a\\xff) can be diagnosed, runtime 10.0.5.\n"},
    {STATE_DETECTED, STATE_READY, false, false, LOG_INFO,
     "Process 42 (do\\x1bt) can be diagnosed, runtime of unknown version.\n"},
    {STATE_DETECTED, STATE_READY, false, true, LOG_WARNING, ""},
    {STATE_READY, STATE_READY, false, true, LOG_DEBUG, ""},
    {STATE_DETECTED, STATE_UNREACHABLE, false, false, LOG_INFO,
     "Process 42 (do\\x1bt) cannot be diagnosed: refused, connect: ECONNREFUSED.\n"},
    {STATE_UNREACHABLE, STATE_UNREACHABLE, false, false, LOG_DEBUG, ""},
    {STATE_READY, STATE_GONE, false, false, LOG_INFO, "Process 42 (do\\x1bt) is gone.\n"},
    {STATE_DETECTED, STATE_GONE, false, false, LOG_INFO, ""}, // nobody was told of it
};

static void test_changes(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(changes); i++) {
        bool unreachable = changes[i].after == STATE_UNREACHABLE;
        Process process = {
            .key = {.pid = 42},
            .traits = {.pid = 42,
                       .state = changes[i].after,
                       .command = "do\x1bt",
                       .facts = changes[i].with_facts ? &facts : NULL},
            .reason = unreachable ? REASON_REFUSED : REASON_NONE,
            .detail = unreachable ? detail : NULL,
        };
        Action action = {
            .kind = ACTION_PUBLISH,
            .process = &process,
            .has_before = !changes[i].is_new,
            .before = {.state = changes[i].before},
        };
        Throttle throttle = {0};
        log_set_level(changes[i].level);
        Capture capture = capture_begin();
        announce_change(&action, &throttle, 0);
        capture_end(&capture, changes[i].line);
        log_set_level(LOG_INFO);
    }
}

// However much a process calls itself, a line stays a line, and its UTF-8 whole.
static void test_long_name(void **state) {
    (void)state;
    static char name[1 << 16];
    char *expected = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&expected, &size);
    assert_non_null(stream);
    fputs("Process 42 (y", stream);
    name[0] = 'y'; // so that the cut would fall between two bytes of a character
    for (size_t i = 1; i + 2 < sizeof name; i += 2) {
        name[i] = '\xc3';
        name[i + 1] = '\xa4';
        if (i + 2 <= BOUND_JOURNAL_TEXT)
            fputs("\xc3\xa4", stream);
    }
    fputs(") can be diagnosed, runtime of unknown version.\n", stream);
    fclose(stream);
    _cleanup_free_ char *owned = expected;
    Facts long_facts = {.entry_assembly = name};
    Process process = {
        .key = {.pid = 42},
        .traits = {.pid = 42, .state = STATE_READY, .facts = &long_facts},
    };
    Action action = {.kind = ACTION_PUBLISH, .process = &process};
    Capture capture = capture_begin();
    Throttle throttle = {0};
    announce_change(&action, &throttle, 0);
    capture_end(&capture, owned);
}

// A user whose processes come and go in a loop does not fill the journal.
static void test_storm(void **state) {
    (void)state;
    Process process = {
        .key = {.pid = 42},
        .traits = {.pid = 42, .uid = 1000, .state = STATE_GONE, .command = "x"},
    };
    Action action = {
        .kind = ACTION_PUBLISH,
        .process = &process,
        .has_before = true,
        .before = {.state =
                       STATE_DETECTED}, // of which nobody was told: no entry, and none left out
    };
    Throttle throttle = {0};
    Capture capture = capture_begin();
    for (int i = 0; i < 2 * BOUND_JOURNAL_BURST; i++)
        announce_change(&action, &throttle, 0);
    capture_end(&capture, "");

    action.before.state = STATE_READY;
    capture = capture_begin();
    for (int i = 0; i < BOUND_JOURNAL_BURST; i++)
        announce_change(&action, &throttle, 0);
    capture_skip(&capture);
    capture = capture_begin();
    for (int i = 0; i < 5; i++)
        announce_change(&action, &throttle, 0);
    capture_end(&capture, "");
    capture = capture_begin();
    announce_change(&action, &throttle, USEC_PER_SEC);
    announce_change(&action, &throttle, USEC_PER_SEC);
    capture_end(&capture,
                "5 entries about processes of uid 1000, or others with it, were left out: "
                "too many at once.\n"
                "Process 42 (x) is gone.\nProcess 42 (x) is gone.\n");
}

static void test_warnings(void **state) {
    (void)state;
    Throttle throttle = {0};
    Capture capture = capture_begin();
    assert_true(announce_lost(3, &throttle, 0));
    assert_true(announce_degraded("No scan: it costs this.", &throttle, 0));
    capture_end(&capture, "3 records of the kernel side were lost; scanning again.\n"
                          "No scan: it costs this.\n");

    capture = capture_begin();
    while (announce_lost(1, &throttle, 0))
        continue;
    capture_skip(&capture);
    capture = capture_begin();
    assert_false(announce_lost(1, &throttle, 0));
    assert_false(announce_degraded("No scan: it costs this.", &throttle, 0));
    capture_end(&capture, "");
}

static void test_mechanism(void **state) {
    (void)state;
    Capture capture = capture_begin();
    announce_mechanism(LOG_NOTICE, "perf", "much", "perf: much; not fentry: EPERM");
    capture_end(&capture, "Watching by perf: much; not fentry: EPERM.\n");

    log_set_level(LOG_WARNING);
    capture = capture_begin();
    announce_mechanism(LOG_NOTICE, "perf", "much", "perf: much");
    log_set_level(LOG_INFO);
    capture_end(&capture, "");
}

static void test_notifications(void **state) {
    (void)state;
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/announce-test-%d", getpid());
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    announce_ready();
    announce_status("syscall-tracepoint", false);
    announce_status("scan", true);
    announce_stopping();
    unsetenv("NOTIFY_SOCKET");
    unlink(address.sun_path);

    static const char *const expected[] = {"READY=1", "STATUS=Watching by syscall-tracepoint.",
                                           ("STATUS=Watching by scan, degraded: see "
                                            "dotnet-discoveryctl status."),
                                           "STOPPING=1"};
    for (size_t i = 0; i < ELEMENTS_OF(expected); i++) {
        char text[128];
        ssize_t size = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
        assert_true(size > 0);
        text[size] = '\0';
        assert_string_equal(text, expected[i]);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),   cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_storm),     cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_mechanism), cmocka_unit_test(test_notifications),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
