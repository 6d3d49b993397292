// A job has one owner at each moment, and it changes hands under the lock only. The threads of
// users and those of root are counted apart, and each user has but a few: whoever makes look-ups
// block runs out of threads alone. A few threads do while nothing blocks. When a job waits although
// they are there, some of them may block, and a timer adds others, which end when there is nothing
// more to do.
//
// The state outlives its owner as long as a thread is stuck in it, which then finds its way out.
// SPDX-License-Identifier: MIT
#include "workers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "instant.h"

TAILQ_HEAD(Jobs, Job);

struct Workers {
    // The loop's alone.
    sd_event_source *relief;    // owned; enabled while a job may wait for a thread
    sd_event_source *completed; // owned
    int event_fd;               // owned; written to by threads while not `ended`

    pthread_mutex_t lock; // for all that follows
    pthread_cond_t work;  // a job was queued, or it ends
    pthread_cond_t left;  // a thread ended, or has written
    struct Jobs queued, running, run;
    size_t queued_count;
    size_t threads;
    size_t idle;
    size_t writing; // threads at the event_fd
    bool ended;
    size_t references; // one of the owner, one of each thread
};

static void lock(Workers *workers) {
    int r = pthread_mutex_lock(&workers->lock);
    assert(r == 0);
}

static void unlock(Workers *workers) {
    int r = pthread_mutex_unlock(&workers->lock);
    assert(r == 0);
}

// With the lock, which it gives up.
static void unref_and_unlock(Workers *workers) {
    bool last = --workers->references == 0;
    unlock(workers);
    if (!last)
        return;
    pthread_cond_destroy(&workers->left);
    pthread_cond_destroy(&workers->work);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}

static bool is_stuck(const Job *job, uint64_t now_us) {
    return job->state == JOB_ABANDONED && job->stuck_us <= now_us;
}

// What runs for a uid and for its kind, which is root's or everybody else's.
typedef struct Share {
    size_t of_uid;
    size_t of_kind;
} Share;

static Share share_running(const Workers *workers, uid_t uid) {
    Share share = {0};
    const Job *job;
    TAILQ_FOREACH(job, &workers->running, link) {
        share.of_uid += job->uid == uid;
        share.of_kind += (job->uid == 0) == (uid == 0);
    }
    return share;
}

static size_t kind_limit(uid_t uid) {
    return uid == 0 ? BOUND_LOOKS_OF_ROOT : BOUND_LOOKS_OF_USERS;
}

static bool is_looked_at(const Workers *workers, pid_t pid) {
    const Job *job;
    TAILQ_FOREACH(job, &workers->running, link) {
        if (job->pid == pid)
            return true;
    }
    return false;
}

// The one that waits longest of those that may run now. Never two at one process: one that was let
// go of may still have a connection to it.
static Job *next_job(const Workers *workers) {
    Job *job;
    TAILQ_FOREACH(job, &workers->queued, link) {
        if (is_looked_at(workers, job->pid))
            continue;
        Share share = share_running(workers, job->uid);
        if (share.of_kind < kind_limit(job->uid) &&
            (job->uid == 0 || share.of_uid < BOUND_LOOKS_PER_UID))
            return job;
    }
    return NULL;
}

// With the lock, which is given up meanwhile: whoever is woken would wait for it at once. The end
// of a job may make room for more than the one that its thread goes on with.
static void tell_end(Workers *workers) {
    bool others_wait = !TAILQ_EMPTY(&workers->queued);
    if (workers->ended)
        return;
    workers->writing++;
    unlock(workers);
    if (others_wait)
        pthread_cond_signal(&workers->work);
    // Cannot fail: it is never read late enough for the count to be full.
    (void)eventfd_write(workers->event_fd, 1);
    lock(workers);
    workers->writing--;
    pthread_cond_signal(&workers->left);
}

// With the lock, which is given up while the job runs.
static void run_job(Workers *workers, Job *job) {
    TAILQ_REMOVE(&workers->queued, job, link);
    workers->queued_count--;
    TAILQ_INSERT_TAIL(&workers->running, job, link);
    job->state = JOB_RUNNING;
    job->stuck_us = instant_now().boottime_us + BOUND_PROBE_MS * USEC_PER_MSEC;
    unlock(workers);
    job->kind->run(job);
    lock(workers);

    TAILQ_REMOVE(&workers->running, job, link);
    if (job->state == JOB_ABANDONED) {
        unlock(workers);
        job->kind->free(job);
        lock(workers);
    } else {
        job->state = JOB_RUN;
        TAILQ_INSERT_TAIL(&workers->run, job, link);
    }
    tell_end(workers);
}

static void *work(void *userdata) {
    Workers *workers = userdata;
    lock(workers);
    for (;;) {
        Job *job = workers->ended ? NULL : next_job(workers);
        if (job) {
            run_job(workers, job);
            continue;
        }
        if (workers->ended || workers->idle >= BOUND_LOOKERS)
            break;
        workers->idle++;
        pthread_cond_wait(&workers->work, &workers->lock);
        workers->idle--;
    }
    workers->threads--;
    pthread_cond_signal(&workers->left);
    unref_and_unlock(workers);
    return NULL;
}

// With the lock. Signals are the loop's.
static int add_thread(Workers *workers) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return -EAGAIN;
    (void)pthread_attr_setstacksize(&attributes, BOUND_LOOKER_STACK);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&thread, &attributes, work, workers);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (r != 0)
        return -EAGAIN;
    workers->threads++;
    workers->references++;
    return 0;
}

static size_t count_stuck(const Workers *workers) {
    uint64_t now_us = instant_now().boottime_us;
    size_t count = 0;
    const Job *job;
    TAILQ_FOREACH(job, &workers->running, link)
    count += is_stuck(job, now_us);
    return count;
}

static bool is_waiting(const Workers *workers) {
    return workers->queued_count > workers->idle && next_job(workers);
}

// One that is armed keeps its time: whoever submits again and again would put it off for good.
static int arm_relief(Workers *workers) {
    if (sd_event_source_get_enabled(workers->relief, NULL) > 0)
        return 0;
    int r = sd_event_source_set_time_relative(workers->relief, BOUND_LOOK_MS * USEC_PER_MSEC);
    return r < 0 ? r : sd_event_source_set_enabled(workers->relief, SD_EVENT_ONESHOT);
}

static int on_relief(sd_event_source *source, uint64_t usec, void *userdata) {
    Workers *workers = userdata;
    (void)source;
    (void)usec;
    lock(workers);
    bool waiting = is_waiting(workers);
    // Where no thread can be made the timer tries again.
    if (waiting && workers->threads < BOUND_LOOKS_OF_ROOT + BOUND_LOOKS_OF_USERS)
        (void)add_thread(workers);
    unlock(workers);
    return waiting ? arm_relief(workers) : 0;
}

static Job *take_run(Workers *workers) {
    lock(workers);
    Job *job = workers->ended ? NULL : TAILQ_FIRST(&workers->run);
    if (job) {
        TAILQ_REMOVE(&workers->run, job, link);
        job->state = JOB_OWNED;
    }
    unlock(workers);
    return job;
}

static int on_completed(sd_event_source *source, int fd, uint32_t events, void *userdata) {
    Workers *workers = userdata;
    eventfd_t count;
    (void)source;
    (void)events;
    (void)eventfd_read(fd, &count);

    lock(workers);
    workers->references++; // whoever gets a job may free the workers
    unlock(workers);
    for (Job *job; (job = take_run(workers));)
        job->kind->done(job);
    lock(workers);
    if (!workers->ended && is_waiting(workers))
        (void)arm_relief(workers); // takes no memory once the source is there
    unref_and_unlock(workers);
    return 0;
}

static int init_locks(Workers *workers) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return -ENOMEM;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int r = -ENOMEM;
    if (pthread_mutex_init(&workers->lock, NULL) == 0) {
        // Neither takes memory or anything else that there may be too little of.
        pthread_cond_init(&workers->work, NULL);
        pthread_cond_init(&workers->left, &attributes);
        r = 0;
    }
    pthread_condattr_destroy(&attributes);
    return r;
}

int workers_new(sd_event *event, Workers **ret) {
    Workers *workers = malloc(sizeof *workers);
    if (!workers)
        return -ENOMEM;
    *workers = (Workers){.references = 1, .event_fd = -1};
    TAILQ_INIT(&workers->queued);
    TAILQ_INIT(&workers->running);
    TAILQ_INIT(&workers->run);
    int r = init_locks(workers);
    if (r < 0) {
        free(workers);
        return r;
    }
    workers->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = workers->event_fd < 0 ? -errno : 0;
    if (r >= 0)
        r = sd_event_add_io(event, &workers->completed, workers->event_fd, EPOLLIN, on_completed,
                            workers);
    if (r >= 0)
        r = sd_event_add_time(event, &workers->relief, CLOCK_MONOTONIC, 0, 1, on_relief, workers);
    if (r >= 0)
        r = sd_event_source_set_enabled(workers->relief, SD_EVENT_OFF);
    if (r < 0) {
        workers_free(workers);
        return r;
    }
    *ret = workers;
    return 0;
}

static struct timespec end_of_wait(void) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += BOUND_LOOK_END_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    return end;
}

void workers_free(Workers *workers) {
    if (!workers)
        return;
    workers->completed = sd_event_source_disable_unref(workers->completed);
    workers->relief = sd_event_source_disable_unref(workers->relief);
    lock(workers);
    assert(TAILQ_EMPTY(&workers->queued) && TAILQ_EMPTY(&workers->run));
    const Job *job;
    TAILQ_FOREACH(job, &workers->running, link)
    assert(job->state == JOB_ABANDONED);
    workers->ended = true;
    pthread_cond_broadcast(&workers->work);
    // Those that are not stuck are done in a moment; the rest is nobody's to wait for.
    struct timespec end = end_of_wait();
    while (workers->threads > 0 &&
           pthread_cond_timedwait(&workers->left, &workers->lock, &end) != ETIMEDOUT)
        continue;
    while (workers->writing > 0)
        pthread_cond_wait(&workers->left, &workers->lock);
    workers->event_fd = safe_close(workers->event_fd);
    unref_and_unlock(workers);
}

// Whether another one would only be stuck as well.
static bool is_barred(const Workers *workers, uid_t uid, pid_t pid) {
    uint64_t now_us = instant_now().boottime_us;
    Share stuck = {0};
    const Job *job;
    TAILQ_FOREACH(job, &workers->running, link) {
        if (!is_stuck(job, now_us))
            continue;
        if (job->pid == pid)
            return true;
        stuck.of_uid += job->uid == uid;
        stuck.of_kind += (job->uid == 0) == (uid == 0);
    }
    return stuck.of_kind >= kind_limit(uid) ||
           (uid != 0 && stuck.of_uid >= BOUND_LOOKS_STUCK_PER_UID);
}

// With the lock. A queued job that no thread could be made for is taken back.
static int enqueue(Workers *workers, Job *job) {
    TAILQ_INSERT_TAIL(&workers->queued, job, link);
    workers->queued_count++;
    job->state = JOB_QUEUED;
    if (!is_waiting(workers) || workers->threads - count_stuck(workers) >= BOUND_LOOKERS)
        return 0;
    int r = add_thread(workers);
    if (r == 0 || workers->threads > 0)
        return 0;
    TAILQ_REMOVE(&workers->queued, job, link);
    workers->queued_count--;
    job->state = JOB_OWNED;
    return r;
}

int workers_submit(Workers *workers, Job *job) {
    assert(job->state == JOB_OWNED);
    lock(workers);
    bool barred = is_barred(workers, job->uid, job->pid);
    int r = barred ? 0 : enqueue(workers, job);
    bool waiting = !barred && is_waiting(workers);
    unlock(workers);
    if (r < 0)
        return r;
    if (barred)
        return SUBMIT_STUCK;
    // Without the lock, which the thread that is woken wants.
    pthread_cond_signal(&workers->work);
    if (waiting)
        (void)arm_relief(workers);
    return SUBMIT_OK;
}

JobState workers_abandon(Workers *workers, Job *job, bool late) {
    lock(workers);
    JobState before = job->state;
    switch (before) {
    case JOB_RUNNING:
        job->state = JOB_ABANDONED;
        atomic_store(&job->let_go, true);
        if (late)
            job->stuck_us = 0;
        job = NULL; // the thread's
        break;
    case JOB_QUEUED:
        TAILQ_REMOVE(&workers->queued, job, link);
        workers->queued_count--;
        break;
    case JOB_RUN:
        TAILQ_REMOVE(&workers->run, job, link);
        break;
    case JOB_OWNED:
    case JOB_ABANDONED:
    default:
        assert(false);
    }
    unlock(workers);
    if (job)
        job->kind->free(job);
    return before;
}

size_t workers_stuck(Workers *workers) {
    lock(workers);
    size_t count = count_stuck(workers);
    unlock(workers);
    return count;
}
