// The hinted socket first, then those found in the kernel's tables, each connected to, verified and
// asked in turn, until one is known to be the process's own: what it does then (answer, be silent,
// talk nonsense) is the result. A runtime that does not know the question is asked an older one
// over a new connection. One deadline spans it all.
//
// The facts of /proc are read while the process makes its answer, so they cost no time.
// SPDX-License-Identifier: MIT
#include "attempt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bounds.h"
#include "cleanup.h"
#include "connection.h"
#include "ipc.h"
#include "locator.h"
#include "target.h"
#include "unix_table.h"

// Milliseconds matter to nobody who waits this long; let the kernel join wake-ups.
#define DEADLINE_ACCURACY_US (10 * USEC_PER_MSEC)

struct Attempt {
    uint64_t serial;
    char hint[SOCKET_PATH_SIZE];
    Target target; // its key from the beginning, its descriptor from the start

    sd_event *event; // referenced, from the start
    AttemptEnded ended;
    void *userdata;
    sd_event_source *deadline; // owned

    // Where to ask.
    bool hint_used;
    Locator *locator;             // owned, NULL until the hint did not hold
    sd_event_source *locating;    // owned, until the locator is done
    const Candidates *candidates; // of the locator, NULL until then
    size_t candidates_used;
    char path[SOCKET_PATH_SIZE]; // the one asked now

    // The connection of the moment and the reply so far.
    int version;
    int fd;                    // owned
    sd_event_source *readable; // owned
    uint8_t *reply;            // owned
    size_t size;
    size_t wanted; // the size of the reply as far as is known

    Facts *facts;    // owned, NULL until they were read
    Failure failure; // the one that told most so far
};

// What a step of the attempt leads to; a negative errno where the daemon lacks something.
typedef enum Progress {
    PROGRESS_WAITING, // for the process, the loop's next turn or the deadline
    PROGRESS_ENDED,   // the outcome stands
} Progress;

static int on_locating(sd_event_source *source, void *userdata);
static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata);
static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata);

int attempt_new(uint64_t serial, const ProcessKey *key, const char *socket_hint, Attempt **ret) {
    Attempt *attempt = malloc(sizeof *attempt);
    if (!attempt)
        return -ENOMEM;
    *attempt = (Attempt){
        .serial = serial,
        .target = {.key = *key, .directory = -1},
        .version = IPC_VERSION_NEWEST,
        .fd = -1,
    };
    // One that is too long is cut and will not be found; no kernel binds it.
    strncpy(attempt->hint, socket_hint, sizeof attempt->hint - 1);
    *ret = attempt;
    return 0;
}

static void stop_locating(Attempt *attempt) {
    attempt->locating = sd_event_source_disable_unref(attempt->locating);
}

static void disconnect(Attempt *attempt) {
    attempt->readable = sd_event_source_disable_unref(attempt->readable);
    attempt->fd = safe_close(attempt->fd);
    free(attempt->reply);
    attempt->reply = NULL;
    attempt->size = attempt->wanted = 0;
}

void attempt_free(Attempt *attempt) {
    if (!attempt)
        return;
    disconnect(attempt);
    stop_locating(attempt);
    sd_event_source_disable_unref(attempt->deadline);
    sd_event_unref(attempt->event);
    locator_free(attempt->locator);
    target_done(&attempt->target);
    facts_free(attempt->facts);
    failure_done(&attempt->failure);
    free(attempt);
}

bool attempt_is_started(const Attempt *attempt) {
    return attempt->event;
}

uint64_t attempt_serial(const Attempt *attempt) {
    return attempt->serial;
}

// Waits for the reply's header on a connection that has the question.
static int adopt_connection(Attempt *attempt, int fd) {
    attempt->fd = fd;
    attempt->wanted = IPC_HEADER_SIZE;
    attempt->reply = malloc(attempt->wanted);
    if (!attempt->reply)
        return -ENOMEM;
    return sd_event_add_io(attempt->event, &attempt->readable, fd, EPOLLIN, on_readable, attempt);
}

// Asks at attempt->path. STEP_DONE: the question is out; STEP_FAILED: merged, *ret_outcome tells.
static int ask(Attempt *attempt, Outcome *ret_outcome) {
    _cleanup_(failure_done) Failure failure = {0};
    int fd;
    int r = connection_ask(&attempt->target, attempt->path, attempt->version, &fd, &failure);
    if (r == STEP_DONE) {
        r = adopt_connection(attempt, fd);
        return r < 0 ? r : STEP_DONE;
    }
    if (r == STEP_FAILED) {
        *ret_outcome = failure.outcome;
        failure_merge(&attempt->failure, &failure);
    }
    return r;
}

// Puts the next path to ask, of those known so far, into attempt->path; false where there is none.
static bool next_path(Attempt *attempt) {
    if (!attempt->hint_used) {
        attempt->hint_used = true;
        if (attempt->hint[0]) {
            memcpy(attempt->path, attempt->hint, sizeof attempt->path);
            return true;
        }
    }
    while (attempt->candidates && attempt->candidates_used < attempt->candidates->count) {
        const char *path = attempt->candidates->paths[attempt->candidates_used++];
        if (strcmp(path, attempt->hint) == 0)
            continue;
        memcpy(attempt->path, path, sizeof attempt->path);
        return true;
    }
    return false;
}

// A socket that is not there, not alive or not the process's own says nothing of the next one. Nor
// does one that does not speak the protocol, unless it has the name of one that should.
static bool leaves_others(const Attempt *attempt, Outcome outcome) {
    return outcome == OUTCOME_NO_SOCKET || outcome == OUTCOME_REFUSED ||
           outcome == OUTCOME_HUNG_UP || outcome == OUTCOME_NOT_OWNER ||
           (outcome == OUTCOME_PROTOCOL_ERROR && !unix_table_is_diagnostic(attempt->path));
}

// One step of the locator; STEP_DONE: there are candidates.
static int locate(Attempt *attempt) {
    _cleanup_(failure_done) Failure failure = {0};
    int r = STEP_DONE;
    if (!attempt->locator)
        r = locator_new(&attempt->target, &attempt->locator, &failure);
    if (r == STEP_DONE)
        r = locator_step(attempt->locator, &attempt->candidates, &failure);
    if (r == STEP_FAILED)
        failure_merge(&attempt->failure, &failure);
    if (r == LOCATOR_MORE && !attempt->locating) {
        int enabled = sd_event_add_defer(attempt->event, &attempt->locating, on_locating, attempt);
        if (enabled >= 0)
            enabled = sd_event_source_set_enabled(attempt->locating, SD_EVENT_ON);
        if (enabled < 0)
            return enabled;
    }
    if (r != LOCATOR_MORE)
        stop_locating(attempt);
    return r;
}

static int ask_next(Attempt *attempt) {
    for (;;) {
        if (!next_path(attempt)) {
            // All that were found have been asked, or none has been looked for yet.
            int r = attempt->candidates ? STEP_FAILED : locate(attempt);
            if (r == STEP_DONE)
                continue;
            return r < 0 ? r : r == LOCATOR_MORE ? PROGRESS_WAITING : PROGRESS_ENDED;
        }
        attempt->version = IPC_VERSION_NEWEST;
        Outcome outcome = OUTCOME_NOT_TRIED;
        int r = ask(attempt, &outcome);
        if (r != STEP_FAILED)
            return r < 0 ? r : PROGRESS_WAITING;
        if (!leaves_others(attempt, outcome))
            return PROGRESS_ENDED;
    }
}

static int read_facts(Attempt *attempt) {
    _cleanup_(failure_done) Failure failure = {0};
    int r = target_facts(&attempt->target, &attempt->facts, &failure);
    if (r == STEP_FAILED)
        failure_merge(&attempt->failure, &failure);
    return r;
}

static int begin(Attempt *attempt) {
    int r = sd_event_add_time_relative(attempt->event, &attempt->deadline, CLOCK_MONOTONIC,
                                       BOUND_PROBE_MS * USEC_PER_MSEC, DEADLINE_ACCURACY_US,
                                       on_deadline, attempt);
    if (r < 0)
        return r;

    _cleanup_(failure_done) Failure failure = {0};
    ProcessKey key = attempt->target.key;
    r = target_open(&key, &attempt->target, &failure);
    if (r == STEP_FAILED)
        failure_merge(&attempt->failure, &failure);
    if (r != STEP_DONE)
        return r < 0 ? r : PROGRESS_ENDED;

    r = ask_next(attempt);
    if (r != PROGRESS_WAITING)
        return r;
    r = read_facts(attempt);
    if (r != STEP_DONE)
        return r < 0 ? r : PROGRESS_ENDED;
    return PROGRESS_WAITING;
}

// Facts of a process that did not answer: without what is told only of those that did.
static void complete_facts(Attempt *attempt) {
    // What the daemon lacks for the facts it can do without: this is not the last attempt.
    if (!attempt->facts)
        (void)read_facts(attempt);
    if (!attempt->facts)
        return;
    free(attempt->facts->arguments);
    attempt->facts->arguments = NULL;
    attempt->facts->arguments_size = 0;
    attempt->facts->arguments_truncated = false;
}

// The process may simply have ended, or be stopped.
static void complete_failure(Attempt *attempt) {
    Failure *failure = &attempt->failure;
    if (attempt->target.directory < 0)
        return;
    if (!target_is_alive(&attempt->target)) {
        failure_set(failure, OUTCOME_VANISHED, NULL, 0, "it has ended");
    } else if (failure->outcome == OUTCOME_TIMEOUT) {
        char run_state = target_run_state(&attempt->target);
        if (run_state == 'T')
            failure_append(failure, "; the process is stopped");
        else if (run_state == 't')
            failure_append(failure, "; the process is stopped by a debugger");
    }
    complete_facts(attempt);
}

// Where a step led: keeps waiting, or ends the attempt, which may be freed then.
static void settle(Attempt *attempt, int progress) {
    if (progress == PROGRESS_WAITING)
        return;
    disconnect(attempt);
    stop_locating(attempt);
    attempt->deadline = sd_event_source_disable_unref(attempt->deadline);

    const char *path = attempt->path;
    if (progress >= 0 && attempt->failure.outcome != OUTCOME_ANSWERED) {
        complete_failure(attempt);
        path = attempt->failure.path;
    }
    if (progress >= 0 && attempt->facts && path[0]) {
        attempt->facts->socket_path = strdup(path);
        if (!attempt->facts->socket_path)
            progress = -ENOMEM;
    }
    if (progress < 0) {
        failure_set(&attempt->failure, OUTCOME_NOT_TRIED, NULL, -progress,
                    "the daemon lacks means");
        facts_free(attempt->facts);
        attempt->facts = NULL;
    }
    target_done(&attempt->target);
    attempt->ended(attempt->userdata, attempt);
}

void attempt_start(Attempt *attempt, sd_event *event, AttemptEnded ended, void *userdata) {
    attempt->event = sd_event_ref(event);
    attempt->ended = ended;
    attempt->userdata = userdata;
    settle(attempt, begin(attempt));
}

Input attempt_take_input(Attempt *attempt) {
    return (Input){
        .kind = INPUT_PROBED,
        .probed =
            {
                .serial = attempt->serial,
                .outcome = attempt->failure.outcome,
                .detail = TAKE_PTR(attempt->failure.detail),
                .facts = TAKE_PTR(attempt->facts),
            },
    };
}

// It answered: failures of other sockets no longer count.
static int answered(Attempt *attempt, IpcProcessInfo *info) {
    Facts *facts = attempt->facts;
    // Whose it is decides who sees it, and that may have changed since the attempt began.
    int r = target_credentials(&attempt->target, facts);
    if (r < 0)
        return r;
    failure_done(&attempt->failure);
    if (info) {
        facts->has_cookie = true;
        memcpy(facts->cookie, info->cookie, sizeof facts->cookie);
        facts->runtime_version = TAKE_PTR(info->runtime_version);
        facts->entry_assembly = TAKE_PTR(info->entry_assembly);
        facts->operating_system = TAKE_PTR(info->operating_system);
        facts->architecture = TAKE_PTR(info->architecture);
        facts->portable_rid = TAKE_PTR(info->portable_rid);
    }
    return PROGRESS_ENDED;
}

static int misbehaved(Attempt *attempt, Failure *failure) {
    Outcome outcome = failure->outcome;
    failure_merge(&attempt->failure, failure);
    disconnect(attempt);
    return leaves_others(attempt, outcome) ? ask_next(attempt) : PROGRESS_ENDED;
}

static int ask_older(Attempt *attempt) {
    disconnect(attempt);
    attempt->version--;
    Outcome outcome;
    int r = ask(attempt, &outcome);
    return r < 0 ? r : r == STEP_DONE ? PROGRESS_WAITING : PROGRESS_ENDED;
}

// All bytes that were wanted are here.
static int look_at_reply(Attempt *attempt) {
    _cleanup_(ipc_process_info_done) IpcProcessInfo info = {0};
    _cleanup_(failure_done) Failure failure = {0};
    const char *fault = NULL;
    uint32_t code;
    size_t wanted;

    int r = ipc_reply_parse(attempt->version, attempt->reply, attempt->size, &info, &wanted, &code,
                            &fault);
    if (r < 0)
        return r;
    switch ((IpcResult)r) {
    case IPC_OK:
        return answered(attempt, &info);
    case IPC_UNKNOWN_COMMAND:
        // .NET Core 3.1 knows none of them; its port works all the same.
        return attempt->version > 1 ? ask_older(attempt) : answered(attempt, NULL);
    case IPC_ERROR_REPLY:
        return answered(attempt, NULL);
    case IPC_MORE: {
        uint8_t *reply = realloc(attempt->reply, wanted);
        if (!reply)
            return -ENOMEM;
        attempt->reply = reply;
        attempt->wanted = wanted;
        return PROGRESS_WAITING;
    }
    case IPC_BAD:
    default:
        failure_set(&failure, OUTCOME_PROTOCOL_ERROR, attempt->path, 0,
                    "its answer to ProcessInfo%d is none: %s", attempt->version, fault);
        return misbehaved(attempt, &failure);
    }
}

static int hung_up(Attempt *attempt, int error) {
    _cleanup_(failure_done) Failure failure = {0};
    if (attempt->size == 0)
        failure_set(&failure, OUTCOME_HUNG_UP, attempt->path, error,
                    "closed the connection without an answer");
    else
        failure_set(&failure, OUTCOME_PROTOCOL_ERROR, attempt->path, error,
                    "closed the connection after %zu bytes of its answer", attempt->size);
    return misbehaved(attempt, &failure);
}

// Reads exactly what the reply has, never a byte beyond.
static int receive(Attempt *attempt) {
    for (;;) {
        ssize_t n = recv(attempt->fd, attempt->reply + attempt->size,
                         attempt->wanted - attempt->size, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return PROGRESS_WAITING;
        if (n < 0 && failure_is_ours(errno))
            return -errno;
        if (n <= 0) {
            return hung_up(attempt, n < 0 ? errno : 0);
        }
        attempt->size += (size_t)n;
        if (attempt->size < attempt->wanted)
            continue;
        int r = look_at_reply(attempt);
        // Waiting for the rest of the same reply, which may be here; else for another connection.
        if (r != PROGRESS_WAITING || attempt->size == 0)
            return r;
    }
}

static int on_locating(sd_event_source *source, void *userdata) {
    Attempt *attempt = userdata;
    (void)source;
    settle(attempt, ask_next(attempt));
    return 0;
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
    Attempt *attempt = userdata;
    (void)source;
    (void)fd;
    (void)events;
    settle(attempt, receive(attempt));
    return 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
    Attempt *attempt = userdata;
    _cleanup_(failure_done) Failure failure = {0};
    (void)source;
    (void)usec;
    if (attempt->locating)
        failure_set(&failure, OUTCOME_TIMEOUT, NULL, 0, "its sockets were not found within %d ms",
                    BOUND_PROBE_MS);
    else
        failure_set(&failure, OUTCOME_TIMEOUT, attempt->path, 0,
                    "no whole answer to ProcessInfo%d within %d ms (%zu bytes)", attempt->version,
                    BOUND_PROBE_MS, attempt->size);
    failure_merge(&attempt->failure, &failure);
    settle(attempt, PROGRESS_ENDED);
    return 0;
}
