// The status socket: org.dotnetdiscovery.Manager and org.varlink.service over Varlink. Each client
// has its own bounded queue; none can delay another or the daemon.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-event.h>

#include "action.h"
#include "status.h"

typedef struct VarlinkServer VarlinkServer;

typedef struct VarlinkLimits {
    size_t connections;         // one part in BOUND_ROOT_DIVISOR is for uid 0 alone
    size_t connections_per_uid; // of a uid other than 0
    size_t queue;               // bytes of changes per subscriber
} VarlinkLimits;

typedef struct VarlinkCounters {
    size_t connections;
    size_t subscribers;
    uint64_t refused;   // connections over a limit
    uint64_t malformed; // connections closed for what they sent
    uint64_t overruns;  // subscribers that lost changes and got a new snapshot
    uint64_t pauses;    // times that accepting stopped for lack of descriptors
} VarlinkCounters;

// Serves the listening socket `fd` (owned from now on, also on failure). The caller owns *ret.
int varlink_server_new(sd_event *event, const Context *context, const VarlinkLimits *limits, int fd,
                       VarlinkServer **ret);
void varlink_server_free(VarlinkServer *server);

// Tells every subscriber whom it concerns of an ACTION_PUBLISH.
void varlink_server_publish(VarlinkServer *server, const Action *action);

// Answers the Check call that `token` names; a client that has gone meanwhile is no error.
void varlink_server_check_done(VarlinkServer *server, uint64_t token, const CheckItems *items);

// The listening socket, borrowed.
int varlink_server_fd(const VarlinkServer *server);

const VarlinkCounters *varlink_server_counters(const VarlinkServer *server);
