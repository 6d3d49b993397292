// A pidfd becomes readable when its process has ended: no polling, and no other process is ever
// taken for this one. A process has a tree node, a descriptor and an event source here.
//
// Whether the pid was still that of the life meant when its pidfd was opened, only its start time
// tells, and a process can make everybody who reads that wait. So it is not read here: the look
// that follows reads it, and ends a life that it does not find.
// SPDX-License-Identifier: MIT
#include "follow.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>

#include "cleanup.h"

typedef struct Followed {
    uint64_t serial;
    Context *context;
    sd_event_source *exit; // owned; owns the pidfd
} Followed;

static int compare(const void *left, const void *right) {
    const Followed *a = left, *b = right;
    return (a->serial > b->serial) - (a->serial < b->serial);
}

static void followed_free(void *pointer) {
    Followed *followed = pointer;
    sd_event_source_disable_unref(followed->exit);
    free(followed);
}
DEFINE_CLEANUP(Followed *, followed_free);

static int on_exit_of_process(sd_event_source *source, __attribute__((unused)) int fd,
                              __attribute__((unused)) uint32_t revents, void *userdata) {
    Followed *followed = userdata;
    // It stays readable; whoever is told may free what is followed here.
    int r = sd_event_source_set_enabled(source, SD_EVENT_OFF);
    if (r < 0)
        return r;
    Input input = {.kind = INPUT_EXIT, .exit = {.serial = followed->serial}};
    context_yield(followed->context, &input);
    return 0;
}

// FOLLOW_OK: the caller owns *ret.
static int open_process(const ProcessKey *key, int *ret) {
    int process = pidfd_open(key->pid, 0);
    // EINVAL: the pid is now that of a thread which leads no process.
    if (process < 0)
        return errno == ESRCH || errno == EINVAL ? FOLLOW_GONE : -errno;
    *ret = process;
    return FOLLOW_OK;
}

static int watch(Followed *followed, int *process) {
    int r = sd_event_add_io(followed->context->event, &followed->exit, *process, EPOLLIN,
                            on_exit_of_process, followed);
    if (r < 0)
        return r;
    r = sd_event_source_set_io_fd_own(followed->exit, true);
    if (r < 0)
        return r;
    (void)TAKE_FD(*process);
    r = sd_event_source_set_priority(followed->exit, PRIORITY_EXITS);
    return r < 0 ? r : sd_event_source_set_exit_on_failure(followed->exit, true);
}

void follower_init(Follower *follower, Context *context) {
    *follower = (Follower){.context = context};
}

void follower_done(Follower *follower) {
    tdestroy(follower->tree, followed_free);
    follower->tree = NULL;
}

int follower_add(Follower *follower, uint64_t serial, const ProcessKey *key) {
    _cleanup_close_ int process = -1;
    int r = open_process(key, &process);
    if (r != FOLLOW_OK)
        return r;
    _cleanup_(followed_freep) Followed *followed = calloc(1, sizeof *followed);
    if (!followed)
        return -ENOMEM;
    *followed = (Followed){.serial = serial, .context = follower->context};
    r = watch(followed, &process);
    if (r < 0)
        return r;
    if (!tsearch(followed, &follower->tree, compare))
        return -ENOMEM;
    (void)TAKE_PTR(followed);
    return FOLLOW_OK;
}

void follower_remove(Follower *follower, uint64_t serial) {
    const Followed key = {.serial = serial};
    Followed **node = tfind(&key, &follower->tree, compare);
    if (!node)
        return;
    Followed *followed = *node;
    tdelete(&key, &follower->tree, compare);
    followed_free(followed);
}
