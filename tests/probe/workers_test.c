// The threads, with jobs that block until the test lets them go.
// SPDX-License-Identifier: MIT
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "bounds.h"
#include "instant.h"
#include "macro.h"
#include "workers.h"

enum {
    ROUNDS = 500,
    NOBODY = 1 << 30, // a pid that no other job has
};

// What went wrong on threads, which may not assert.
static atomic_uint thread_failures;

// A job that waits as a look at a hostile process would, for a byte of the test's.
typedef struct FakeJob {
    Job job; // first
    struct Scene *scene;
    int gate;  // -1: does not wait
    int freed; // written to when it is freed
    unsigned runs;
} FakeJob;

typedef struct Scene {
    sd_event *event;
    Workers *workers;
    int gate; // semaphore: each job that waits takes one
    int freed;
    unsigned done;
    bool frees_workers;
} Scene;

static void run(Job *job) {
    FakeJob *fake = (FakeJob *)job;
    eventfd_t taken;
    fake->runs++;
    if (fake->gate >= 0 && eventfd_read(fake->gate, &taken) < 0)
        atomic_fetch_add(&thread_failures, 1);
}

static void done(Job *job) {
    FakeJob *fake = (FakeJob *)job;
    Scene *scene = fake->scene;
    assert_int_equal(job->state, JOB_OWNED);
    assert_int_equal(fake->runs, 1);
    scene->done++;
    free(fake);
    if (scene->frees_workers) {
        workers_free(scene->workers);
        scene->workers = NULL;
    }
}

static void free_job(Job *job) {
    int freed = ((FakeJob *)job)->freed;
    free(job);
    if (eventfd_write(freed, 1) < 0)
        atomic_fetch_add(&thread_failures, 1);
}

static const JobKind kind = {.run = run, .done = done, .free = free_job};

static FakeJob *new_job(Scene *scene, uid_t uid, pid_t pid, bool waits) {
    FakeJob *fake = malloc(sizeof *fake);
    assert_non_null(fake);
    *fake = (FakeJob){
        .job = {.kind = &kind, .uid = uid, .pid = pid},
        .scene = scene,
        .gate = waits ? scene->gate : -1,
        .freed = scene->freed,
    };
    return fake;
}

static FakeJob *submit(Scene *scene, uid_t uid, pid_t pid, bool waits) {
    FakeJob *fake = new_job(scene, uid, pid, waits);
    assert_int_equal(workers_submit(scene->workers, &fake->job), SUBMIT_OK);
    return fake;
}

static void assert_barred(Scene *scene, uid_t uid, pid_t pid) {
    FakeJob *fake = new_job(scene, uid, pid, false);
    assert_int_equal(workers_submit(scene->workers, &fake->job), SUBMIT_STUCK);
    assert_int_equal(fake->job.state, JOB_OWNED);
    free(fake);
}

static void await_done(Scene *scene, unsigned count) {
    uint64_t end = instant_now().boottime_us + 5 * USEC_PER_SEC;
    while (scene->done < count) {
        assert_true(sd_event_run(scene->event, 100 * USEC_PER_MSEC) >= 0);
        assert_true(instant_now().boottime_us < end);
    }
    assert_int_equal(scene->done, count);
}

static void await_freed(Scene *scene, unsigned count) {
    eventfd_t freed;
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(eventfd_read(scene->freed, &freed), 0);
}

static void let_go(Scene *scene, unsigned count) {
    assert_int_equal(eventfd_write(scene->gate, count), 0);
}

// Runs the loop until a job of another uid came through, so that all before it have begun or
// cannot.
static void let_begin(Scene *scene) {
    unsigned before = scene->done;
    submit(scene, 0, NOBODY, false);
    await_done(scene, before + 1);
}

// One that a thread is in, and that should have come back.
static void stick(Scene *scene, uid_t uid, pid_t pid) {
    size_t before = workers_stuck(scene->workers);
    FakeJob *fake = submit(scene, uid, pid, true);
    let_begin(scene);
    assert_int_equal(workers_abandon(scene->workers, &fake->job, true), JOB_RUNNING);
    assert_int_equal(workers_stuck(scene->workers), before + 1);
}

static int set_up(void **state) {
    Scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->gate = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    scene->freed = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    assert_true(scene->gate >= 0 && scene->freed >= 0);
    assert_true(sd_event_new(&scene->event) >= 0);
    assert_int_equal(workers_new(scene->event, &scene->workers), 0);
    *state = scene;
    return 0;
}

static int tear_down(void **state) {
    Scene *scene = *state;
    workers_free(scene->workers);
    sd_event_unref(scene->event);
    close(scene->gate);
    close(scene->freed);
    free(scene);
    return atomic_load(&thread_failures) > 0 ? -1 : 0;
}

static void each_comes_back_once(void **state) {
    Scene *scene = *state;
    for (unsigned i = 0; i < ROUNDS; i++)
        submit(scene, i % 5, (pid_t)i, false);
    assert_int_equal(scene->done, 0);
    await_done(scene, ROUNDS);
    assert_int_equal(workers_stuck(scene->workers), 0);
}

static void one_that_blocks_holds_nobody_up(void **state) {
    Scene *scene = *state;
    // More than the threads that there are at first, of one user and of root.
    for (pid_t pid = 10; pid < 10 + BOUND_LOOKS_PER_UID; pid++)
        submit(scene, 1000, pid, true);
    for (pid_t pid = 20; pid < 20 + BOUND_LOOKERS; pid++)
        submit(scene, 0, pid, true);
    submit(scene, 1001, 30, false);
    submit(scene, 0, 31, false);
    await_done(scene, 2);
    // Of the user who has as many as may be another one waits for his own.
    FakeJob *last = submit(scene, 1000, 40, false);
    let_begin(scene);
    assert_int_equal(last->job.state, JOB_QUEUED);
    let_go(scene, BOUND_LOOKS_PER_UID + BOUND_LOOKERS);
    await_done(scene, 4 + BOUND_LOOKS_PER_UID + BOUND_LOOKERS);
}

static void a_user_has_but_a_few_stuck(void **state) {
    Scene *scene = *state;
    stick(scene, 1000, 10);
    assert_barred(scene, 1000, 10);
    for (pid_t pid = 11; pid < 10 + BOUND_LOOKS_STUCK_PER_UID; pid++)
        stick(scene, 1000, pid);
    assert_barred(scene, 1000, 99);
    submit(scene, 1001, 99, false);
    await_done(scene, scene->done + 1);
    let_go(scene, BOUND_LOOKS_STUCK_PER_UID);
    await_freed(scene, BOUND_LOOKS_STUCK_PER_UID);
    assert_int_equal(workers_stuck(scene->workers), 0);
    submit(scene, 1000, 10, false);
    await_done(scene, scene->done + 1);
}

static void users_leave_root_its_own(void **state) {
    Scene *scene = *state;
    for (unsigned i = 0; i < BOUND_LOOKS_OF_USERS; i++)
        stick(scene, 1000 + i, (pid_t)(10 + i));
    assert_barred(scene, 5000, 99);
    for (unsigned i = 0; i < BOUND_LOOKS_OF_ROOT - 1; i++)
        stick(scene, 0, (pid_t)(1000 + i));
    submit(scene, 0, 99, false);
    await_done(scene, scene->done + 1);
    enum { STUCK = BOUND_LOOKS_OF_USERS + BOUND_LOOKS_OF_ROOT - 1 };
    assert_int_equal(workers_stuck(scene->workers), STUCK);
    let_go(scene, STUCK);
    await_freed(scene, STUCK);
    submit(scene, 5000, 99, false);
    await_done(scene, scene->done + 1);
}

// Not late, it is not stuck, and is told to begin nothing more; the next at the same process waits
// for it to end.
static void a_cancelled_one_is_not_stuck(void **state) {
    Scene *scene = *state;
    FakeJob *running = submit(scene, 1000, 10, true);
    let_begin(scene);
    assert_false(atomic_load(&running->job.let_go));
    assert_int_equal(workers_abandon(scene->workers, &running->job, false), JOB_RUNNING);
    assert_true(atomic_load(&running->job.let_go));
    assert_int_equal(workers_stuck(scene->workers), 0);
    const FakeJob *next = submit(scene, 1001, 10, false);
    let_begin(scene);
    assert_int_equal(next->job.state, JOB_QUEUED);
    unsigned before = scene->done;
    let_go(scene, 1);
    await_freed(scene, 1);
    await_done(scene, before + 1);
}

static void who_submits_on_and_on_puts_nothing_off(void **state) {
    Scene *scene = *state;
    for (pid_t pid = 10; pid < 10 + BOUND_LOOKERS; pid++)
        submit(scene, 0, pid, true);
    unsigned submitted = 0;
    while (scene->done == 0 && submitted < ROUNDS) {
        submit(scene, 0, 1000 + (pid_t)submitted++, false);
        assert_true(sd_event_run(scene->event, USEC_PER_MSEC) >= 0);
    }
    assert_true(scene->done > 0);
    let_go(scene, BOUND_LOOKERS);
    await_done(scene, submitted + BOUND_LOOKERS);
}

static void one_that_had_not_begun_is_freed_at_once(void **state) {
    Scene *scene = *state;
    FakeJob *jobs[BOUND_LOOKS_PER_UID + 1];
    for (size_t i = 0; i < ELEMENTS_OF(jobs); i++)
        jobs[i] = submit(scene, 1000, (pid_t)i, true);
    let_begin(scene);
    assert_int_equal(workers_abandon(scene->workers, &jobs[BOUND_LOOKS_PER_UID]->job, true),
                     JOB_QUEUED);
    await_freed(scene, 1);
    assert_int_equal(workers_stuck(scene->workers), 0);
    let_go(scene, BOUND_LOOKS_PER_UID);
    await_done(scene, 1 + BOUND_LOOKS_PER_UID);
}

static void one_that_has_run_but_was_not_taken_is_freed(void **state) {
    Scene *scene = *state;
    FakeJob *fake = submit(scene, 1000, 10, false);
    struct pollfd completed = {.fd = sd_event_get_fd(scene->event), .events = POLLIN};
    assert_int_equal(poll(&completed, 1, 5000), 1);
    assert_int_equal(workers_abandon(scene->workers, &fake->job, false), JOB_RUN);
    await_freed(scene, 1);
    assert_true(sd_event_run(scene->event, 0) >= 0);
    assert_int_equal(scene->done, 0);
}

static void the_end_waits_for_nobody_who_is_stuck(void **state) {
    Scene *scene = *state;
    stick(scene, 1000, 10);
    workers_free(scene->workers); // would never return
    scene->workers = NULL;
    // The thread comes to a place that is there no more.
    let_go(scene, 1);
    await_freed(scene, 1);
}

static void they_may_be_freed_by_who_gets_a_job(void **state) {
    Scene *scene = *state;
    scene->frees_workers = true;
    submit(scene, 1000, 10, false);
    await_done(scene, 1);
    assert_null(scene->workers);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_comes_back_once),
        TEST(one_that_blocks_holds_nobody_up),
        TEST(a_user_has_but_a_few_stuck),
        TEST(users_leave_root_its_own),
        TEST(a_cancelled_one_is_not_stuck),
        TEST(who_submits_on_and_on_puts_nothing_off),
        TEST(one_that_had_not_begun_is_freed_at_once),
        TEST(one_that_has_run_but_was_not_taken_is_freed),
        TEST(the_end_waits_for_nobody_who_is_stuck),
        TEST(they_may_be_freed_by_who_gets_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
