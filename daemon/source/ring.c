// A turn reads a bounded number of records and then looks at the kernel's count of those it had no
// room for. A storm is read on in further turns, each behind whoever waits longer.
// SPDX-License-Identifier: MIT
#include "ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>

#include "bounds.h"
#include "log.h"
#include "record.h"

static void take(Ring *ring, const void *bytes, size_t size) {
    Context *context = ring->context;
    struct discovery_record record;
    size_t used;
    RecordResult result = record_decode(bytes, size, &record, &used);
    if (result != RECORD_OK || record.header.kind == DISCOVERY_RECORD_PROGRESS) {
        context->counters.records_bad++;
        log_debug("A record of %zu bytes from the kernel side was refused.", size);
        return;
    }
    context->counters.records++;
    Input input = translate_record(context->clocks, &record, instant_now());
    context_signal(context, &input);
}

// libbpf before 1.5 reads all there is unless the callback fails, and counts that record as read.
static int on_record(void *userdata, void *bytes, size_t size) {
    Ring *ring = userdata;
    ring->records++;
    take(ring, bytes, size);
    return ring->records == BOUND_RING_RECORDS ? -EAGAIN : 0;
}

// True where the bound was reached, false where all was read.
static bool turn(Ring *ring) {
    ring->records = 0;
    (void)ring_buffer__consume(ring->buffer);

    uint64_t lost = kernel_lost(&ring->context->kernel);
    // Where nobody can be told now, the next turn finds the same loss.
    if (lost > ring->lost && ring->loss(ring->userdata) >= 0) {
        ring->context->counters.records_lost += lost - ring->lost;
        ring->lost = lost;
    }
    return ring->records == BOUND_RING_RECORDS;
}

static int on_readable(__attribute__((unused)) sd_event_source *source,
                       __attribute__((unused)) int fd, __attribute__((unused)) uint32_t revents,
                       void *userdata) {
    Ring *ring = userdata;
    // The descriptor stays readable while something is left, so the next turn comes by itself.
    return sd_event_source_set_priority(ring->readable,
                                        turn(ring) ? PRIORITY_TURNS : PRIORITY_RECORDS);
}

int ring_init(Ring *ring, Context *context, size_t bytes, RingLoss loss, void *userdata) {
    *ring = (Ring){.context = context, .bytes = bytes, .loss = loss, .userdata = userdata};
    int map = context->kernel.records;
    if (map < 0)
        return 0;
    ring->buffer = ring_buffer__new(map, on_record, ring, NULL);
    if (!ring->buffer)
        return -errno;

    int r = sd_event_add_io(context->event, &ring->readable, ring_buffer__epoll_fd(ring->buffer),
                            EPOLLIN, on_readable, ring);
    if (r >= 0)
        r = sd_event_source_set_priority(ring->readable, PRIORITY_RECORDS);
    if (r >= 0)
        r = sd_event_source_set_exit_on_failure(ring->readable, true);
    return r < 0 ? r : 0;
}

int ring_wait(const Ring *ring, int timeout_ms) {
    struct pollfd poll_fd = {.fd = ring_buffer__epoll_fd(ring->buffer), .events = POLLIN};
    int r = poll(&poll_fd, 1, timeout_ms);
    return r < 0 && errno != EINTR ? -errno : 0;
}

void ring_done(Ring *ring) {
    sd_event_source_disable_unref(ring->readable);
    ring_buffer__free(ring->buffer);
    *ring = (Ring){0};
}

void ring_drain(Ring *ring) {
    if (!ring->buffer)
        return;
    const size_t capacity = ring->bytes / sizeof(struct discovery_record);
    for (size_t records = 0; records < capacity && turn(ring); records += BOUND_RING_RECORDS)
        ;
}
