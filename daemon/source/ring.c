// A turn reads a bounded number of records and then looks at the kernel's count of those it had no
// room for. A storm is read on in further turns, each behind whoever waits longer.
// SPDX-License-Identifier: MIT
#include "ring.h"

#include <bpf/libbpf.h>
#include <errno.h>

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
    context_yield(context, &input);
}

// libbpf before 1.5 reads all there is unless the callback fails, and counts that record as read.
static int on_record(void *userdata, void *bytes, size_t size) {
    Ring *ring = userdata;
    ring->records++;
    take(ring, bytes, size);
    return ring->records == BOUND_RING_RECORDS ? -EAGAIN : 0;
}

// 1 where the bound was reached, 0 where all was read.
static int turn(Ring *ring) {
    ring->records = 0;
    (void)ring_buffer__consume(ring->buffer);

    uint64_t lost = kernel_lost(&ring->context->kernel);
    // Where nobody can be told now, the next turn finds the same loss.
    if (lost > ring->context->counters.records_lost && ring->loss(ring->userdata) >= 0)
        ring->context->counters.records_lost = lost;
    return ring->records == BOUND_RING_RECORDS;
}

static int on_readable(__attribute__((unused)) sd_event_source *source,
                       __attribute__((unused)) int fd, __attribute__((unused)) uint32_t revents,
                       void *userdata) {
    Ring *ring = userdata;
    int r = turn(ring);
    if (r < 0)
        return r;
    // The descriptor stays readable while something is left, so the next turn comes by itself.
    return sd_event_source_set_priority(ring->readable, r ? PRIORITY_TURNS : PRIORITY_RECORDS);
}

int ring_init(Ring *ring, Context *context, size_t bytes, RingLoss loss, void *userdata) {
    *ring = (Ring){.context = context, .bytes = bytes, .loss = loss, .userdata = userdata};
    int map = kernel_records(&context->kernel);
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

void ring_done(Ring *ring) {
    sd_event_source_disable_unref(ring->readable);
    ring_buffer__free(ring->buffer);
    *ring = (Ring){0};
}

int ring_drain(Ring *ring) {
    const size_t capacity = ring->bytes / sizeof(struct discovery_record);
    int r = ring->buffer != NULL;
    for (size_t records = 0; r > 0 && records < capacity; records += BOUND_RING_RECORDS)
        r = turn(ring);
    return r < 0 ? r : 0;
}
