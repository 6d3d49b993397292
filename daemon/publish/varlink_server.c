// Who is let in. A connection over a limit is accepted all the same and told so at its first call;
// few of those wait at once, and the oldest makes room for a new one, so that they cost next to
// nothing and nobody is kept waiting in the backlog by others.
//
// A change is sent at once; those that follow before the loop has gone on are sent together, for in
// a storm it is sending that costs most.
//
// Where the daemon lacks descriptors it stops accepting until one of its connections closes, or for
// a second where it has none that could: level-triggered events would turn the loop in circles.
// SPDX-License-Identifier: MIT
#include "varlink_server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "bounds.h"
#include "cleanup.h"
#include "instant.h"
#include "log.h"
#include "methods.h"
#include "peer.h"
#include "priorities.h"
#include "session.h"

typedef TAILQ_HEAD(SessionList, Session) SessionList;

struct VarlinkServer {
    int fd;
    sd_event *event;         // referenced
    sd_event_source *listen; // off while accepting pauses
    sd_event_source *resume; // on while accepting pauses
    sd_event_source *flush;  // on once a change was sent in this turn of the loop
    VarlinkLimits limits;
    SessionShared shared;
    SessionList sessions; // each owned, in the order they came
    SessionList refused;  // likewise
    size_t refused_count;
};

static void resume_accepting(VarlinkServer *server) {
    sd_event_source_set_enabled(server->resume, SD_EVENT_OFF);
    if (sd_event_source_set_enabled(server->listen, SD_EVENT_ON) < 0)
        log_debug("Cannot go on accepting connections");
}

static void pause_accepting(VarlinkServer *server, int error) {
    log_debug("Accepting no connections for a while: %s", strerror(error));
    server->shared.counters.pauses++;
    sd_event_source_set_enabled(server->listen, SD_EVENT_OFF);
    if (sd_event_source_set_time_relative(server->resume, BOUND_ACCEPT_PAUSE_MS * USEC_PER_MSEC) <
            0 ||
        sd_event_source_set_enabled(server->resume, SD_EVENT_ONESHOT) < 0)
        resume_accepting(server);
}

static int on_resume(sd_event_source *source __attribute__((unused)),
                     uint64_t now __attribute__((unused)), void *userdata) {
    resume_accepting(userdata);
    return 0;
}

static void remove_session(VarlinkServer *server, Session *session) {
    if (session->refused) {
        TAILQ_REMOVE(&server->refused, session, link);
        server->refused_count--;
    } else {
        TAILQ_REMOVE(&server->sessions, session, link);
        server->shared.counters.connections--;
    }
    session_free(session);
}

static void on_closed(void *userdata, Session *session) {
    VarlinkServer *server = userdata;
    remove_session(server, session);
    int paused = 0;
    if (sd_event_source_get_enabled(server->resume, &paused) >= 0 && paused != SD_EVENT_OFF)
        resume_accepting(server);
}

static bool is_over_limit(const VarlinkServer *server, uid_t uid) {
    size_t limit = server->limits.connections;
    if (server->shared.counters.connections >= limit)
        return true;
    if (uid == 0)
        return false;
    size_t count = 0, others = 0;
    const Session *session;
    TAILQ_FOREACH(session, &server->sessions, link) {
        count += session->viewer.uid == uid;
        others += session->viewer.uid != 0;
    }
    return count >= server->limits.connections_per_uid ||
           others >= limit - limit / BOUND_ROOT_DIVISOR;
}

static void add_session(VarlinkServer *server, Session *session) {
    if (!session->refused) {
        TAILQ_INSERT_TAIL(&server->sessions, session, link);
        server->shared.counters.connections++;
        return;
    }
    server->shared.counters.refused++;
    if (server->refused_count >= BOUND_CONNECTIONS_REFUSED)
        remove_session(server, TAILQ_FIRST(&server->refused));
    TAILQ_INSERT_TAIL(&server->refused, session, link);
    server->refused_count++;
}

static int admit(VarlinkServer *server, int fd) {
    _cleanup_close_ int owned = fd;
    Viewer viewer;
    int r = peer_viewer(owned, server->shared.context.group, &viewer);
    if (r < 0)
        return r;
    Session *session;
    r = session_new(server->event, &server->shared, TAKE_FD(owned), &viewer,
                    is_over_limit(server, viewer.uid), &session);
    if (r < 0)
        return r;
    add_session(server, session);
    return 0;
}

static int on_listen(sd_event_source *source __attribute__((unused)), int listen_fd,
                     uint32_t events __attribute__((unused)), void *userdata) {
    VarlinkServer *server = userdata;
    // cppcheck-suppress nullPointer; accept(2): no address is wanted
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            pause_accepting(server, errno);
        return 0;
    }
    int r = admit(server, fd);
    if (r < 0)
        log_debug("Cannot serve a connection: %s", strerror(-r));
    return 0;
}

static int on_flush(sd_event_source *source, void *userdata) {
    VarlinkServer *server = userdata;
    (void)source;
    Session *session;
    TAILQ_FOREACH(session, &server->sessions, link) {
        session_flush(session);
    }
    return 0;
}

// Behind the records and exits that are there, before what clients want.
static int add_flush(VarlinkServer *server) {
    int r = sd_event_add_defer(server->event, &server->flush, on_flush, server);
    if (r >= 0)
        r = sd_event_source_set_priority(server->flush, PRIORITY_FLUSH);
    return r < 0 ? r : sd_event_source_set_enabled(server->flush, SD_EVENT_OFF);
}

// The timer is made before descriptors can run short.
static int add_sources(VarlinkServer *server) {
    int flags = fcntl(server->fd, F_GETFL);
    if (flags < 0 || fcntl(server->fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    int r = sd_event_add_time(server->event, &server->resume, CLOCK_MONOTONIC, UINT64_MAX, 0,
                              on_resume, server);
    if (r < 0)
        return r;
    r = sd_event_source_set_enabled(server->resume, SD_EVENT_OFF);
    if (r >= 0)
        r = add_flush(server);
    if (r < 0)
        return r;
    return sd_event_add_io(server->event, &server->listen, server->fd, EPOLLIN, on_listen, server);
}

int varlink_server_new(sd_event *event, const Context *context, const VarlinkLimits *limits, int fd,
                       VarlinkServer **ret) {
    _cleanup_close_ int owned = fd;
    VarlinkServer *server = calloc(1, sizeof *server);
    if (!server)
        return -ENOMEM;
    *server = (VarlinkServer){
        .fd = TAKE_FD(owned),
        .event = sd_event_ref(event),
        .limits = *limits,
        .shared = {.context = *context,
                   .queue = limits->queue,
                   .call = methods_call,
                   .userdata = server,
                   .closed = on_closed},
    };
    TAILQ_INIT(&server->sessions);
    TAILQ_INIT(&server->refused);

    int r = add_sources(server);
    if (r < 0) {
        varlink_server_free(server);
        return r;
    }
    *ret = server;
    return 0;
}

void varlink_server_free(VarlinkServer *server) {
    if (!server)
        return;
    while (!TAILQ_EMPTY(&server->sessions))
        remove_session(server, TAILQ_FIRST(&server->sessions));
    while (!TAILQ_EMPTY(&server->refused))
        remove_session(server, TAILQ_FIRST(&server->refused));
    assert(server->shared.counters.connections == 0 && server->refused_count == 0);
    assert(server->shared.counters.subscribers == 0);
    sd_event_source_disable_unref(server->listen);
    sd_event_source_disable_unref(server->resume);
    sd_event_source_disable_unref(server->flush);
    sd_event_unref(server->event);
    safe_close(server->fd);
    free(server);
}

void varlink_server_publish(VarlinkServer *server, const Action *action) {
    _cleanup_(change_done) Change change = {
        .action = action,
        .boot_id = server->shared.context.boot_id,
    };
    // Where the source cannot be enabled, each goes out at once.
    bool at_once = sd_event_source_get_enabled(server->flush, NULL) == 0;
    Session *session;
    TAILQ_FOREACH(session, &server->sessions, link) {
        session_publish(session, &change, at_once);
    }
    if (at_once)
        (void)sd_event_source_set_enabled(server->flush, SD_EVENT_ONESHOT);
}

void varlink_server_check_done(VarlinkServer *server, uint64_t token, const CheckItems *items) {
    Session *session;
    TAILQ_FOREACH(session, &server->sessions, link) {
        if (session->check == token) {
            session_check_done(session, items);
            return;
        }
    }
}

int varlink_server_fd(const VarlinkServer *server) {
    return server->fd;
}

const VarlinkCounters *varlink_server_counters(const VarlinkServer *server) {
    return &server->shared.counters;
}
