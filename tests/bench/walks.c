// walks CPU, then one of these on each line of standard input: how long it takes to find the
// processes that run, in microseconds, and how many were found.
//
//   maps    the text of every /proc/PID/maps
//   vma     an iterator over every mapping
//   source  the daemon's own scan
//   turns   the same in the loop, as the daemon scans again: how long the longest turn took, each
//   of
//           which has at most one read(2), by the clock and of the processor, how many processes
//           were found, and how many turns it took
// SPDX-License-Identifier: MIT
#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "discovery_names.h"
#include "meter.h"
#include "source.h"
#include "vma.skel.h"

enum { READ_SIZE = 64 << 10, OVERLAP = 64 };

// A name may lie across two reads: the end of one is kept in front of the next.
static bool has_name(int fd) {
    static const char wanted[] = "memfd:" DISCOVERY_MAPPING_NAME;
    char text[OVERLAP + READ_SIZE];
    size_t kept = 0;
    ssize_t n;
    bool found = false;
    while ((n = read(fd, text + kept, READ_SIZE)) > 0) {
        size_t size = kept + (size_t)n;
        found = found || memmem(text, size, wanted, sizeof wanted - 1);
        kept = size < OVERLAP ? size : OVERLAP;
        memmove(text, text + size - kept, kept);
    }
    return found;
}

static uint64_t walk_maps(void) {
    uint64_t found = 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        meter_die("/proc");
    for (const struct dirent *entry; (entry = readdir(proc));) {
        char path[METER_LINE];
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "%s/maps", entry->d_name);
        int fd = openat(dirfd(proc), path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue; // it has ended
        found += has_name(fd);
        close(fd);
    }
    closedir(proc);
    return found;
}

static uint64_t walk_mappings(const struct vma *vma) {
    uint64_t found = 0;
    char bytes[4096];
    ssize_t n;
    struct bpf_link *link = bpf_program__attach_iter(vma->progs.find_mapping, NULL);
    int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -errno;
    meter_need(fd, "iter/task_vma");
    while ((n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EAGAIN))
        found += n > 0 ? (uint64_t)n : 0;
    if (n < 0)
        meter_die("iter/task_vma");
    close(fd);
    bpf_link__destroy(link);
    return found;
}

static void on_input(void *userdata, Input *input) {
    uint64_t *found = userdata;
    *found += input->kind == INPUT_SIGNAL && input->signal.kind == SIGNAL_SCAN;
    input_done(input);
}

static Source *open_source(sd_event *event, uint64_t *found) {
    const SourceOptions options = {
        .processes = BOUND_PROCESSES,
        .ring_bytes = BOUND_RING_BYTES,
        .mechanism = MECHANISM_SCAN,
    };
    Source *source = NULL;
    meter_need(source_new(event, &options, on_input, found, &source), "source_new");
    meter_need(source_attach(source), "source_attach");
    return source;
}

// As the daemon scans at its start; what comes before it is not in the time.
static double scan(uint64_t *found) {
    sd_event *event = NULL;
    meter_need(sd_event_new(&event), "sd_event_new");
    Source *source = open_source(event, found);
    double before = meter_now_us();
    meter_need(source_scan(source), "source_scan");
    double after = meter_now_us();
    source_free(source);
    sd_event_unref(event);
    return after - before;
}

// Of this thread: without the times in which somebody else had its processor.
static double cpu_us(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) < 0)
        meter_die("clock_gettime");
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

// Nothing is left to do when the scan is over, for as long as until the next one.
static void scan_in_turns(void) {
    sd_event *event = NULL;
    meter_need(sd_event_new(&event), "sd_event_new");
    uint64_t found = 0, turns = 0;
    double longest_us = 0, longest_cpu_us = 0;
    Source *source = open_source(event, &found);
    meter_need(source_rescan(source), "source_rescan");
    for (int more = 1; more > 0; turns += more > 0) {
        double before_us = meter_now_us(), before_cpu_us = cpu_us();
        more = sd_event_run(event, 0);
        double spent_us = cpu_us() - before_cpu_us, us = meter_now_us() - before_us;
        meter_need(more, "sd_event_run");
        longest_us = us > longest_us ? us : longest_us;
        longest_cpu_us = spent_us > longest_cpu_us ? spent_us : longest_cpu_us;
    }
    source_free(source);
    sd_event_unref(event);
    printf("%.1f %.1f %lu %lu\n", longest_us, longest_cpu_us, found, turns);
}

static double walk(const char *name, const struct vma *vma, uint64_t *found) {
    if (strcmp(name, "source") == 0)
        return scan(found);
    double before = meter_now_us();
    *found = strcmp(name, "maps") == 0 ? walk_maps() : walk_mappings(vma);
    return meter_now_us() - before;
}

int walks_main(__attribute__((unused)) int argc, char **argv) {
    meter_pin(argv[0]);
    struct vma *vma = vma__open_and_load();
    if (!vma)
        meter_die("iter/task_vma");
    Order order;
    while (meter_next_order(&order) == 1) {
        uint64_t found = 0;
        if (strcmp(order.words[0], "turns") == 0) {
            scan_in_turns();
            continue;
        }
        double us = walk(order.words[0], vma, &found);
        printf("%.1f %lu\n", us, found);
    }
    vma__destroy(vma);
    return 0;
}
