// Threads for what may block for good: a process can make reads below its own /proc/PID and
// look-ups of its paths wait as long as it likes, and a thread that waits so cannot be woken. The
// loop hands a job over, gets it back when it has run, or lets go of it and goes on without.
// Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

typedef struct Workers Workers;
typedef struct Job Job;

typedef struct JobKind {
    void (*run)(Job *job);  // on a thread; touches the job alone, and nothing that is shared
    void (*done)(Job *job); // in the loop: it has run and is the caller's again; may free anything
    void (*free)(Job *job); // of one that was let go of; on a thread, or in the loop
} JobKind;

typedef enum JobState {
    JOB_OWNED, // by whoever made it
    JOB_QUEUED,
    JOB_RUNNING,
    JOB_RUN,       // on its way back to the loop
    JOB_ABANDONED, // runs on, nobody waits for it
} JobState;

// The first member of what is to be done. Kind, uid and pid are given, the rest is the workers'.
struct Job {
    const JobKind *kind;
    uid_t uid; // whose process it is about
    pid_t pid; // which
    JobState state;
    atomic_bool let_go; // what it runs for is over: `run` begins nothing that others notice
    uint64_t stuck_us;  // CLOCK_BOOTTIME from which it counts as stuck, should it be abandoned
    TAILQ_ENTRY(Job) link;
};

// The caller owns *ret. Threads are made when there is something to do.
int workers_new(sd_event *event, Workers **ret);
// No job may be left that was not abandoned. Threads that are stuck are left behind: they end with
// the process.
void workers_free(Workers *workers);

// Hands a job over. SUBMIT_STUCK, and the job stays the caller's: a job about this very process is
// stuck, or as many of its uid as may be. -EAGAIN: no thread could be made.
// One about a process that another job runs for, even one that was let go of, waits for its end.
typedef enum SubmitResult { SUBMIT_OK, SUBMIT_STUCK } SubmitResult;
int workers_submit(Workers *workers, Job *job);

// Lets go of a job that was handed over and has not come back: it is freed, at once or when it has
// run. `late`: it should have come back by now, and counts as stuck. Returns the state it was in.
JobState workers_abandon(Workers *workers, Job *job, bool late);

// How many threads wait in jobs that count as stuck.
size_t workers_stuck(Workers *workers);
