// What to compare with: a program that does nothing on the same tracepoints, and perf's records of
// every mapping of the machine, taken as cheaply as one can: with a wakeup for each half of a ring
// alone. Both last until standard input ends.
// SPDX-License-Identifier: MIT
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "meter.h"

enum {
    RING_PAGES = 64, // of data, a power of two
    PAGE = 4096,
};

static int open_event(struct perf_event_attr *attr, int cpu) {
    attr->size = sizeof *attr;
    int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        meter_die("perf_event_open");
    return fd;
}

static int load_empty(void) {
    const struct bpf_insn instructions[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    int fd = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "empty", "GPL", instructions, 2, NULL);
    meter_need(fd, "an empty program");
    return fd;
}

static uint64_t tracepoint_id(const char *name) {
    char path[METER_LINE], text[32] = "";
    snprintf(path, sizeof path, "/sys/kernel/tracing/events/%s/id", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        meter_die(path);
    close(fd);
    return strtoull(text, NULL, 10);
}

// tracepoint CATEGORY/NAME...
int tracepoint_main(int argc, char **argv) {
    int program = load_empty();
    for (int i = 0; i < argc; i++) {
        struct perf_event_attr attr = {
            .type = PERF_TYPE_TRACEPOINT, .config = tracepoint_id(argv[i]), .sample_period = 1};
        int event = open_event(&attr, 0);
        if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program) < 0)
            meter_die(argv[i]);
        if (ioctl(event, PERF_EVENT_IOC_ENABLE, 0) < 0)
            meter_die(argv[i]);
    }
    puts("ready");
    meter_await_end();
    return 0;
}

typedef struct Ring {
    int fd;
    struct perf_event_mmap_page *control;
    uint64_t records, lost;
} Ring;

static void open_ring(Ring *ring, int cpu) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .mmap = 1,
        .mmap_data = 1,
        .watermark = 1,
        .wakeup_watermark = RING_PAGES * PAGE / 2, // a reader that is never woken for one record
    };
    ring->fd = open_event(&attr, cpu);
    ring->control =
        mmap(NULL, (1UL + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (ring->control == MAP_FAILED)
        meter_die("the ring of perf");
}

static void drain(Ring *ring) {
    const char *data = (const char *)ring->control + PAGE;
    uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->control->data_tail;
    while (tail < head) {
        const void *place = data + tail % ((uint64_t)RING_PAGES * PAGE);
        const struct perf_event_header *header = place;
        if (header->type == PERF_RECORD_LOST)
            ring->lost++;
        else
            ring->records++;
        tail += header->size;
    }
    __atomic_store_n(&ring->control->data_tail, tail, __ATOMIC_RELEASE);
}

int perf_main(__attribute__((unused)) int argc, __attribute__((unused)) char **argv) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    Ring *rings = calloc((size_t)cpus, sizeof *rings);
    struct pollfd *polls = calloc((size_t)cpus + 1, sizeof *polls);
    if (!rings || !polls)
        meter_die("memory");
    for (long i = 0; i < cpus; i++) {
        open_ring(&rings[i], (int)i);
        polls[i] = (struct pollfd){.fd = rings[i].fd, .events = POLLIN};
    }
    polls[cpus] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    puts("ready");
    while (polls[cpus].revents == 0) {
        if (poll(polls, (nfds_t)cpus + 1, -1) < 0 && errno != EINTR)
            meter_die("poll");
        for (long i = 0; i < cpus; i++)
            drain(&rings[i]);
    }
    uint64_t records = 0, lost = 0;
    for (long i = 0; i < cpus; i++) {
        records += rings[i].records;
        lost += rings[i].lost;
    }
    printf("%lu %lu\n", records, lost);
    free(rings);
    free(polls);
    return 0;
}
