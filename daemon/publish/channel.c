// A turn of the loop does one read, at most BOUND_CALLS_PER_TURN calls and at most one fill, and
// ends by asking for exactly the events that can help it on. EPOLLOUT doubles as "another turn": a
// peer whose socket takes nothing cannot be helped by one anyway.
//
// A peer that shut down its sending side still gets its answers; EPOLLHUP, which is always
// reported, means that it is gone for both.
// SPDX-License-Identifier: MIT
#include "channel.h"

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "bounds.h"
#include "buffer.h"
#include "cleanup.h"

enum { INPUT_STEP = 4096 };

struct Channel {
    int fd;
    sd_event_source *source;
    const ChannelHandler *handler;
    void *userdata;
    Buffer input;
    Buffer output;
    bool at_end;    // the peer sends no more
    bool held;      // a call is being answered
    bool filling;   // fill() is due when the output is empty
    bool again;     // calls are left for another turn
    bool finishing; // to be closed when the output is empty
    bool in_turn;   // which will update the events at its end
    const char *fault;
};

static bool has_output(const Channel *channel) {
    return buffer_size(&channel->output) > 0;
}

// Whether the next call may be looked at.
static bool is_free(const Channel *channel) {
    return !channel->held && !channel->finishing && !has_output(channel);
}

static void update_events(Channel *channel) {
    if (channel->in_turn)
        return;
    uint32_t events = 0;
    if (has_output(channel) || channel->filling || channel->again)
        events |= EPOLLOUT;
    else if (is_free(channel) && !channel->at_end)
        events |= EPOLLIN;
    if (sd_event_source_set_io_events(channel->source, events) < 0)
        channel_break(channel);
}

// In small steps, so that a peer costs about what it sent. The limit of the input lets a message of
// the size allowed and its NUL in.
static int receive(Channel *channel) {
    char *room;
    size_t size;
    int r = buffer_reserve(&channel->input, INPUT_STEP, &room, &size);
    if (r < 0 || size == 0)
        return r;
    ssize_t n = recv(channel->fd, room, size, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (n == 0)
        channel->at_end = true;
    else
        buffer_commit(&channel->input, (size_t)n);
    return 0;
}

static int flush(Channel *channel) {
    if (!has_output(channel))
        return 0;
    ssize_t n = send(channel->fd, buffer_bytes(&channel->output), buffer_size(&channel->output),
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    buffer_consume(&channel->output, (size_t)n);
    return 0;
}

static int fail(Channel *channel, const char *fault) {
    channel->fault = fault;
    return -EBADMSG;
}

// No whole frame is there: is that all right?
static int check_rest(Channel *channel) {
    size_t rest = buffer_size(&channel->input);
    if (rest > BOUND_MESSAGE)
        return fail(channel, "a message that is too long");
    if (!channel->at_end)
        return 0;
    return rest > 0 ? fail(channel, "the end within a message") : -ECONNRESET;
}

static int handle_call(Channel *channel, size_t size) {
    _cleanup_(varlink_call_done) VarlinkCall call = {0};
    int r = varlink_call_parse(buffer_bytes(&channel->input), size, &call, &channel->fault);
    if (r < 0)
        return r;
    buffer_consume(&channel->input, size + 1);
    return channel->handler->call(channel->userdata, &call);
}

static int handle_calls(Channel *channel) {
    channel->again = false;
    for (unsigned i = 0; is_free(channel); i++) {
        const Buffer *input = &channel->input;
        ssize_t size =
            varlink_frame(buffer_size(input) > 0 ? buffer_bytes(input) : NULL, buffer_size(input));
        if (size < 0)
            return check_rest(channel);
        if (i == BOUND_CALLS_PER_TURN) {
            channel->again = true;
            return 0;
        }
        int r = handle_call(channel, (size_t)size);
        if (r < 0)
            return r;
        r = flush(channel);
        if (r < 0)
            return r;
    }
    return 0;
}

static int fill(Channel *channel) {
    if (!channel->filling || has_output(channel))
        return 0;
    int r = channel->handler->fill(channel->userdata);
    if (r < 0)
        return r;
    channel->filling = r > 0;
    return flush(channel);
}

// What a peer that has gone left behind, for the sake of the reason.
static int handle_hangup(Channel *channel) {
    (void)receive(channel);
    channel->at_end = true;
    const Buffer *input = &channel->input;
    if (is_free(channel) && buffer_size(input) > 0 &&
        varlink_frame(buffer_bytes(input), buffer_size(input)) < 0)
        return check_rest(channel);
    return -ECONNRESET;
}

static int take_turn(Channel *channel, uint32_t events) {
    if (events & (EPOLLHUP | EPOLLERR))
        return handle_hangup(channel);
    int r = 0;
    if (events & EPOLLIN)
        r = receive(channel);
    if (r >= 0)
        r = flush(channel);
    if (r >= 0)
        r = handle_calls(channel);
    if (r >= 0)
        r = fill(channel);
    if (r >= 0 && channel->finishing && !has_output(channel))
        r = -ECONNRESET;
    return r;
}

static int on_io(sd_event_source *source __attribute__((unused)), int fd __attribute__((unused)),
                 uint32_t events, void *userdata) {
    Channel *channel = userdata;
    channel->in_turn = true;
    int r = take_turn(channel, events);
    channel->in_turn = false;
    if (r >= 0) {
        update_events(channel);
        return 0;
    }
    bool left = r == -ECONNRESET || r == -EPIPE || channel->fault;
    channel->handler->closed(channel->userdata, channel->fault, left ? 0 : r);
    return 0;
}

int channel_new(sd_event *event, int fd, const ChannelHandler *handler, void *userdata,
                Channel **ret) {
    _cleanup_close_ int owned = fd;
    Channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return -ENOMEM;
    *channel = (Channel){.fd = TAKE_FD(owned), .handler = handler, .userdata = userdata};
    buffer_init(&channel->input, BOUND_MESSAGE + 1);
    // The largest reply, or a page and the one process that may be larger than a page.
    buffer_init(&channel->output, BOUND_REPLY + BOUND_PAGE);

    int r = sd_event_add_io(event, &channel->source, channel->fd, EPOLLIN, on_io, channel);
    if (r < 0) {
        channel_free(channel);
        return r;
    }
    *ret = channel;
    return 0;
}

void channel_free(Channel *channel) {
    if (!channel)
        return;
    sd_event_source_disable_unref(channel->source);
    safe_close(channel->fd);
    buffer_done(&channel->input);
    buffer_done(&channel->output);
    free(channel);
}

int channel_send(Channel *channel, const char *frame, size_t size) {
    int r = buffer_append(&channel->output, frame, size);
    if (r >= 0)
        update_events(channel);
    return r;
}

void channel_hold(Channel *channel) {
    channel->held = true;
}

void channel_release(Channel *channel) {
    channel->held = false;
    // What was read behind the call that was held is due now.
    channel->again = true;
    update_events(channel);
}

// A peer that has taken everything gets what is new at once, without another turn of the loop; one
// that is being filled gets it in its turn. A failure, too, is left to the loop: the caller may be
// going through a list that this channel is in.
void channel_wake(Channel *channel) {
    bool idle = !channel->filling && !channel->in_turn && !has_output(channel);
    channel->filling = true;
    if (idle) {
        channel->in_turn = true;
        int r = fill(channel);
        channel->in_turn = false;
        if (r < 0)
            channel_break(channel);
    }
    update_events(channel);
}

void channel_finish(Channel *channel) {
    channel->finishing = true;
    channel->again = true;
    update_events(channel);
}

void channel_break(Channel *channel) {
    shutdown(channel->fd, SHUT_RDWR);
}
