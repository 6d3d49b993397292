// A pidfd becomes readable when its process has ended: no polling, and no other process is ever
// taken for this one. A process has a tree node and a descriptor here. The descriptors have an
// epoll descriptor of their own, since sd-event fetches all that is ready in each turn to dispatch
// one: the end of n processes at once would cost n times n.
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

#include "bounds.h"
#include "cleanup.h"

typedef struct Followed {
    uint64_t serial;
    int process; // owned: its pidfd
} Followed;

static int compare(const void *left, const void *right) {
    const Followed *a = left, *b = right;
    return (a->serial > b->serial) - (a->serial < b->serial);
}

static void followed_free(void *pointer) {
    Followed *followed = pointer;
    safe_close(followed->process);
    free(followed);
}
DEFINE_CLEANUP(Followed *, followed_free);

static Followed *find_followed(const Follower *follower, uint64_t serial) {
    const Followed key = {.serial = serial};
    Followed **node = tfind(&key, &follower->tree, compare);
    return node ? *node : NULL;
}

static int on_exits(__attribute__((unused)) sd_event_source *source, int fd,
                    __attribute__((unused)) uint32_t revents, void *userdata) {
    Follower *follower = userdata;
    struct epoll_event events[BOUND_EXITS_PER_TURN];
    int n = epoll_wait(fd, events, BOUND_EXITS_PER_TURN, 0);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < n; i++) {
        // Whoever was told of one of them may have had another unfollowed.
        if (!find_followed(follower, events[i].data.u64))
            continue;
        Input input = {.kind = INPUT_EXIT, .exit = {.serial = events[i].data.u64}};
        context_yield(follower->context, &input);
    }
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

static int watch(const Follower *follower, const Followed *followed) {
    // Once: it stays readable.
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = followed->serial};
    int exits = sd_event_source_get_io_fd(follower->exits);
    return epoll_ctl(exits, EPOLL_CTL_ADD, followed->process, &event) < 0 ? -errno : 0;
}

int follower_init(Follower *follower, Context *context) {
    *follower = (Follower){.context = context};
    _cleanup_close_ int exits = epoll_create1(EPOLL_CLOEXEC);
    if (exits < 0)
        return -errno;
    int r = sd_event_add_io(context->event, &follower->exits, exits, EPOLLIN, on_exits, follower);
    if (r < 0)
        return r;
    r = sd_event_source_set_io_fd_own(follower->exits, true);
    if (r < 0)
        return r;
    (void)TAKE_FD(exits);
    r = sd_event_source_set_priority(follower->exits, PRIORITY_EXITS);
    return r < 0 ? r : sd_event_source_set_exit_on_failure(follower->exits, true);
}

void follower_done(Follower *follower) {
    tdestroy(follower->tree, followed_free);
    sd_event_source_disable_unref(follower->exits);
    *follower = (Follower){0};
}

int follower_add(Follower *follower, uint64_t serial, const ProcessKey *key) {
    _cleanup_close_ int process = -1;
    int r = open_process(key, &process);
    if (r != FOLLOW_OK)
        return r;
    _cleanup_(followed_freep) Followed *followed = malloc(sizeof *followed);
    if (!followed)
        return -ENOMEM;
    *followed = (Followed){.serial = serial, .process = TAKE_FD(process)};
    r = watch(follower, followed);
    if (r < 0)
        return r;
    if (!tsearch(followed, &follower->tree, compare))
        return -ENOMEM;
    (void)TAKE_PTR(followed);
    return FOLLOW_OK;
}

void follower_remove(Follower *follower, uint64_t serial) {
    Followed *followed = find_followed(follower, serial);
    if (!followed)
        return;
    tdelete(followed, &follower->tree, compare);
    followed_free(followed);
}
