// One Varlink connection as a channel of bytes: frames in become calls, frames out are sent as the
// peer takes them. Knows nothing of what is said. Calls are handled one after the other: none is
// read while an answer is unsent or a call is held, so that a peer which does not read costs no
// more memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-event.h>

#include "varlink.h"

typedef struct Channel Channel;

typedef struct ChannelHandler {
    // Answers a call with channel_send(), or holds the connection. A negative errno ends it.
    int (*call)(void *userdata, const VarlinkCall *call);
    // After channel_wake(), once all that was queued has gone out: queues some more. 1: there is
    // more, 0: not before the next wake; a negative errno ends the connection.
    int (*fill)(void *userdata);
    // The last thing a connection does: it is freed in here. `fault` is NULL where the peer left or
    // the connection was finished, else what was wrong, a static string; `error` where it was ours.
    void (*closed)(void *userdata, const char *fault, int error);
} ChannelHandler;

// Takes `fd` (non-blocking), also on failure. -ENOMEM. The caller owns *ret.
int channel_new(sd_event *event, int fd, const ChannelHandler *handler, void *userdata,
                Channel **ret);
void channel_free(Channel *channel);

// Queues one frame. -ENOBUFS where it is too large, -ENOMEM.
int channel_send(Channel *channel, const char *frame, size_t size);

// The call under way is not answered yet: read no other until it is.
void channel_hold(Channel *channel);
void channel_release(Channel *channel);

// Has fill() called: at once where all that was queued before has gone out, else from the loop.
void channel_wake(Channel *channel);

// No more calls; closed once what is queued has gone out.
void channel_finish(Channel *channel);

// Ends it from outside its own handler: closed() follows from the loop.
void channel_break(Channel *channel);
