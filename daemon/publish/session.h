// One client of the status socket: who it is, what it is being told.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/queue.h>

#include "listing.h"
#include "subscription.h"
#include "varlink_server.h"

typedef struct Session Session;

// What the clients of one server share.
typedef struct SessionShared {
    Context context;
    size_t queue; // bytes of changes per subscriber
    VarlinkCounters counters;
    uint64_t last_token; // of the checks that were started
    // Answers a call, or begins to. A negative errno ends the connection.
    int (*call)(Session *session, const VarlinkCall *call);
    void *userdata;
    // The client's connection ended; frees the client.
    void (*closed)(void *userdata, Session *session);
} SessionShared;

struct Session {
    TAILQ_ENTRY(Session) link; // varlink_server::sessions or ::refused
    SessionShared *shared;     // borrowed
    Viewer viewer;
    bool refused;               // one too many: told so at its first call
    Channel *channel;           // owned
    Subscription *subscription; // owned, while a stream runs
    Listing *listing;           // owned, while a List without "more" is collected
    uint64_t check;             // token of the check it waits for, 0 for none
    bool waits;                 // changes are queued for session_flush()
};

// Takes `fd`, also on failure. The caller owns *ret.
int session_new(sd_event *event, SessionShared *shared, int fd, const Viewer *viewer, bool refused,
                Session **ret);
void session_free(Session *session);

// Answers. `parameters` are borrowed; NULL for none (session_error), or for some that could not be
// made (session_reply: -ENOMEM).
int session_reply(Session *session, json_t *parameters);
int session_error(Session *session, const char *error, json_t *parameters);

// Begins a stream that answers the call under way. Takes what *filter owns.
int session_stream(Session *session, SubscriptionKind kind, Filter *filter);
// Begins to collect the one reply of the call under way. Takes what *filter owns.
int session_list(Session *session, Filter *filter);
// Begins a check that answers the call under way. -ESRCH: no such process, the call is not
// answered.
int session_check(Session *session, pid_t pid);

// Queues the change where it concerns the client, and sends at once what is queued, or leaves that
// to session_flush().
void session_publish(Session *session, Change *change, bool at_once);
void session_flush(Session *session);
void session_check_done(Session *session, const CheckItems *items);
