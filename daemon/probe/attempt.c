// One attempt: a look on a thread, which brings a connection with the question on its way, then the
// wait for the answer. What the process's own socket does (answer, be silent, talk nonsense) is the
// result. A runtime that does not know the question is asked an older one over a new connection, by
// another look. One deadline spans it all; a look that has not come back by then is let go of.
// SPDX-License-Identifier: MIT
#include "attempt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bounds.h"
#include "cleanup.h"
#include "ipc.h"
#include "look.h"

// Milliseconds matter to nobody who waits this long; let the kernel join wake-ups.
#define DEADLINE_ACCURACY_US (10 * USEC_PER_MSEC)

struct Attempt {
    uint64_t serial;
    Look *look;   // owned, but by the workers while looking; NULL once it was let go of
    bool looking; // nothing of the look may be touched

    sd_event *event;  // referenced, from the start
    Workers *workers; // borrowed, from the start
    AttemptEnded ended;
    void *userdata;
    sd_event_source *deadline; // owned
    int begun;                 // what the start led to, where the deadline is to tell it

    // The connection of the moment and the reply so far.
    int fd;                    // owned
    sd_event_source *readable; // owned
    uint8_t *reply;            // owned
    size_t size;
    size_t wanted; // the size of the reply as far as is known

    Failure failure; // the one that told most so far
    Facts *facts;    // owned, in the end
};

// What a step of the attempt leads to; a negative errno where the daemon lacks something.
typedef enum Progress {
    PROGRESS_WAITING, // for a look, the process or the deadline
    PROGRESS_ENDED,   // the outcome stands
} Progress;

static int receive(Attempt *attempt);
static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata);
static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata);

static void run_look(Job *job) {
    look_run((Look *)job);
}

static void free_look(Job *job) {
    look_free((Look *)job);
}

static void on_looked(Job *job);

static const JobKind look_job = {.run = run_look, .done = on_looked, .free = free_look};

int attempt_new(uint64_t serial, const ProbeTarget *target, Attempt **ret) {
    Attempt *attempt = malloc(sizeof *attempt);
    if (!attempt)
        return -ENOMEM;
    *attempt = (Attempt){.serial = serial, .fd = -1};
    int r = look_new(&target->key, target->socket_hint, &attempt->look);
    if (r < 0) {
        free(attempt);
        return r;
    }
    attempt->look->job.kind = &look_job;
    attempt->look->job.uid = target->uid;
    attempt->look->owner = attempt;
    attempt->look->wants_protection = target->wants_protection;
    attempt->look->named_only = target->named_only;
    *ret = attempt;
    return 0;
}

static void disconnect(Attempt *attempt) {
    attempt->readable = sd_event_source_disable_unref(attempt->readable);
    attempt->fd = safe_close(attempt->fd);
    free(attempt->reply);
    attempt->reply = NULL;
    attempt->size = attempt->wanted = 0;
}

// Returns the state the look was in.
static JobState abandon_look(Attempt *attempt, bool late) {
    attempt->looking = false;
    return workers_abandon(attempt->workers, &TAKE_PTR(attempt->look)->job, late);
}

void attempt_free(Attempt *attempt) {
    if (!attempt)
        return;
    disconnect(attempt);
    if (attempt->looking)
        abandon_look(attempt, false);
    look_free(attempt->look);
    sd_event_source_disable_unref(attempt->deadline);
    sd_event_unref(attempt->event);
    facts_free(attempt->facts);
    failure_done(&attempt->failure);
    free(attempt);
}

bool attempt_is_started(const Attempt *attempt) {
    return attempt->event;
}

static int begin_look(Attempt *attempt) {
    int r = workers_submit(attempt->workers, &attempt->look->job);
    if (r < 0)
        return r;
    attempt->looking = r == SUBMIT_OK;
    if (attempt->looking)
        return PROGRESS_WAITING;
    _cleanup_(failure_done) Failure failure = {0};
    failure_set(&failure, OUTCOME_TIMEOUT, NULL, 0,
                "not looked at: a look at the process, or at others of its user, blocks in the "
                "kernel");
    failure_merge(&attempt->failure, &failure);
    return PROGRESS_ENDED;
}

static int ask_next(Attempt *attempt) {
    attempt->look->same_socket = false;
    return begin_look(attempt);
}

static int ask_older(Attempt *attempt) {
    disconnect(attempt);
    attempt->look->same_socket = true;
    attempt->look->version--;
    return begin_look(attempt);
}

// Takes over a connection that has the question. While the facts were read the reply may have come.
static int adopt_connection(Attempt *attempt, int fd) {
    attempt->fd = fd;
    attempt->wanted = IPC_HEADER_SIZE;
    attempt->reply = malloc(attempt->wanted);
    if (!attempt->reply)
        return -ENOMEM;
    int r = receive(attempt);
    if (r != PROGRESS_WAITING || attempt->fd < 0)
        return r;
    r = sd_event_add_io(attempt->event, &attempt->readable, fd, EPOLLIN, on_readable, attempt);
    return r < 0 ? r : PROGRESS_WAITING;
}

// The process may simply have ended, or be stopped.
static void explain_failure(Attempt *attempt) {
    Failure *failure = &attempt->failure;
    const Target *target = &attempt->look->target;
    if (target->directory < 0)
        return;
    if (!target_is_alive(target)) {
        failure_set(failure, OUTCOME_VANISHED, NULL, 0, "it has ended");
    } else if (failure->outcome == OUTCOME_TIMEOUT) {
        char run_state = target_run_state(target);
        if (run_state == 'T')
            failure_append(failure, "; the process is stopped");
        else if (run_state == 't')
            failure_append(failure, "; the process is stopped by a debugger");
    }
}

// What is told only of those that answered.
static void drop_arguments(Facts *facts) {
    free(facts->arguments);
    facts->arguments = NULL;
    facts->arguments_size = 0;
    facts->arguments_truncated = false;
}

// The facts that are told. Negative where the daemon lacks something.
static int conclude(Attempt *attempt) {
    if (!attempt->look)
        return 0;
    const char *path = attempt->look->path;
    attempt->facts = TAKE_PTR(attempt->look->facts);
    if (attempt->failure.outcome != OUTCOME_ANSWERED) {
        explain_failure(attempt);
        path = attempt->failure.path;
        if (attempt->facts)
            drop_arguments(attempt->facts);
    }
    if (attempt->facts && path[0]) {
        attempt->facts->socket_path = strdup(path);
        if (!attempt->facts->socket_path)
            return -ENOMEM;
    }
    return 0;
}

// Where a step led: keeps waiting, or ends the attempt, which may be freed then.
static void settle(Attempt *attempt, int progress) {
    if (progress == PROGRESS_WAITING)
        return;
    disconnect(attempt);
    attempt->deadline = sd_event_source_disable_unref(attempt->deadline);
    if (progress >= 0)
        progress = conclude(attempt);
    if (progress < 0) {
        failure_set(&attempt->failure, OUTCOME_NOT_TRIED, NULL, -progress,
                    "the daemon lacks means");
        facts_free(attempt->facts);
        attempt->facts = NULL;
    }
    look_free(attempt->look);
    attempt->look = NULL;
    attempt->ended(attempt->userdata, attempt);
}

static int take_look(Attempt *attempt) {
    Look *look = attempt->look;
    if (look->result == STEP_DONE)
        return adopt_connection(attempt, TAKE_FD(look->fd));
    failure_merge(&attempt->failure, &look->failure);
    return look->result < 0 ? look->result : PROGRESS_ENDED;
}

static void on_looked(Job *job) {
    Attempt *attempt = ((Look *)job)->owner;
    attempt->looking = false;
    settle(attempt, take_look(attempt));
}

int attempt_start(Attempt *attempt, sd_event *event, Workers *workers, AttemptEnded ended,
                  void *userdata) {
    attempt->event = sd_event_ref(event);
    attempt->workers = workers;
    attempt->ended = ended;
    attempt->userdata = userdata;
    int r = sd_event_add_time_relative(event, &attempt->deadline, CLOCK_MONOTONIC,
                                       BOUND_PROBE_MS * USEC_PER_MSEC, DEADLINE_ACCURACY_US,
                                       on_deadline, attempt);
    if (r < 0)
        return r;
    attempt->begun = begin_look(attempt);
    if (attempt->begun == PROGRESS_WAITING)
        return 0;
    // Neither takes memory.
    (void)sd_event_source_set_time_accuracy(attempt->deadline, 1);
    (void)sd_event_source_set_time_relative(attempt->deadline, 0);
    return 0;
}

void attempt_fail(Attempt *attempt, int error) {
    settle(attempt, error);
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
    Facts *facts = attempt->look->facts;
    // Whose it is decides who sees it, and that may have changed since the attempt began.
    int r = target_credentials(&attempt->look->target, facts);
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
    return look_leaves_others(attempt->look, outcome) ? ask_next(attempt) : PROGRESS_ENDED;
}

// The kernel names whoever called listen() last, which works at an inherited socket and at one that
// was handed over too. Who it is that answers there, only the answer tells.
static int introduced(Attempt *attempt, IpcProcessInfo *info) {
    _cleanup_(failure_done) Failure failure = {0};
    pid_t own = attempt->look->target.status.namespace_pid;
    if (own == 0 || info->pid == (uint64_t)own)
        return answered(attempt, info);
    failure_set(&failure, OUTCOME_NOT_OWNER, attempt->look->path, 0,
                "answers as process %" PRIu64 ", not %d (pids as the process sees them)", info->pid,
                own);
    return misbehaved(attempt, &failure);
}

// All bytes that were wanted are here.
static int look_at_reply(Attempt *attempt) {
    _cleanup_(ipc_process_info_done) IpcProcessInfo info = {0};
    _cleanup_(failure_done) Failure failure = {0};
    const char *fault = NULL;
    uint32_t code;
    size_t wanted;

    int r = ipc_reply_parse(attempt->look->version, attempt->reply, attempt->size, &info, &wanted,
                            &code, &fault);
    if (r < 0)
        return r;
    switch ((IpcResult)r) {
    case IPC_OK:
        return introduced(attempt, &info);
    case IPC_UNKNOWN_COMMAND:
        // .NET Core 3.1 knows none of them; its port works all the same.
        return attempt->look->version > 1 ? ask_older(attempt) : answered(attempt, NULL);
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
        failure_set(&failure, OUTCOME_PROTOCOL_ERROR, attempt->look->path, 0,
                    "its answer to ProcessInfo%d is none: %s", attempt->look->version, fault);
        return misbehaved(attempt, &failure);
    }
}

static int hung_up(Attempt *attempt, int error) {
    _cleanup_(failure_done) Failure failure = {0};
    if (attempt->size == 0)
        failure_set(&failure, OUTCOME_HUNG_UP, attempt->look->path, error,
                    "closed the connection without an answer");
    else
        failure_set(&failure, OUTCOME_PROTOCOL_ERROR, attempt->look->path, error,
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

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
    Attempt *attempt = userdata;
    (void)source;
    (void)fd;
    (void)events;
    settle(attempt, receive(attempt));
    return 0;
}

static const char *unfinished(JobState state) {
    switch (state) {
    case JOB_QUEUED:
        return "not looked at, since looks that began before block in the kernel: no end";
    case JOB_RUNNING:
        return "a look at the process blocks in the kernel: no end";
    case JOB_RUN:
    case JOB_OWNED:
    case JOB_ABANDONED:
    default:
        return "a look at the process came back too late: no answer";
    }
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
    Attempt *attempt = userdata;
    _cleanup_(failure_done) Failure failure = {0};
    (void)source;
    (void)usec;
    if (attempt->begun != PROGRESS_WAITING) {
        settle(attempt, attempt->begun);
        return 0;
    }
    if (!attempt->looking)
        failure_set(&failure, OUTCOME_TIMEOUT, attempt->look->path, 0,
                    "no whole answer to ProcessInfo%d within %d ms (%zu bytes)",
                    attempt->look->version, BOUND_PROBE_MS, attempt->size);
    else
        failure_set(&failure, OUTCOME_TIMEOUT, NULL, 0, "%s within %d ms",
                    unfinished(abandon_look(attempt, true)), BOUND_PROBE_MS);
    failure_merge(&attempt->failure, &failure);
    settle(attempt, PROGRESS_ENDED);
    return 0;
}
