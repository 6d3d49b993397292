// A software event that counts nothing, on each CPU, brings the kernel's own records of mappings.
// They are read in place, and what is not looked for leaves before anything is copied.
//
// We are woken at once, since a record that waited for others might wait for long. On a host that
// maps a lot this would cost more than the records do, even in the kernel where nobody waits. So a
// second event wakes us, and, as network cards do it, tells nothing while there is something to
// read at each end of a short pause. Whichever of the two is written first, the ring is read once
// more after it has been let tell again.
//
// The rings have no order among them, so an execve and the mapping made after it may come either
// way round when the process went to another CPU in between. Hence the times: what happened before
// a process was noticed is not the end of it.
//
// A record says little of a process, so that is read in /proc, which a process can make wait while
// it holds up an execve of its own; a host where only perf is to be had reads the scan's there too.
// SPDX-License-Identifier: MIT
#include "perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "log.h"
#include "perf_record.h"
#include "proc_entry.h"
#include "procfs.h"

typedef struct PerfFollowed {
    ProcessKey key;
    uint64_t begun_us;  // what it did before is of another program
    uint64_t mapped_us; // it mapped the name last, as far as is known
} PerfFollowed;

static int compare(const void *left, const void *right) {
    const PerfFollowed *a = left, *b = right;
    return (a->key.pid > b->key.pid) - (a->key.pid < b->key.pid);
}

static PerfFollowed *find_followed(Perf *perf, pid_t pid) {
    const PerfFollowed key = {.key.pid = pid};
    PerfFollowed **node = tfind(&key, &perf->followed, compare);
    return node ? *node : NULL;
}

void perf_follow(Perf *perf, const ProcessKey *key) {
    if (!perf->exec)
        return;
    uint64_t now_us = perf->told_us ? perf->told_us : instant_now().boottime_us;
    PerfFollowed *followed = find_followed(perf, key->pid);
    if (!followed) {
        // Without memory its execve is not noticed: it stays listed until it ends.
        followed = malloc(sizeof *followed);
        if (!followed)
            return;
        followed->key = *key;
        if (!tsearch(followed, &perf->followed, compare)) {
            free(followed);
            return;
        }
    }
    *followed = (PerfFollowed){.key = *key, .begun_us = now_us, .mapped_us = now_us};
}

void perf_unfollow(Perf *perf, pid_t pid) {
    PerfFollowed *followed = find_followed(perf, pid);
    if (!followed)
        return;
    tdelete(followed, &perf->followed, compare);
    free(followed);
}

static uint64_t shown_us(const Perf *perf, const PerfRecord *record) {
    return clocks_shown_ns(perf->context->clocks, record->time_ns) / NSEC_PER_USEC;
}

// False where the process has ended, or the pid is that of another by now.
static bool describe(const Perf *perf, const PerfRecord *record, Signal *ret) {
    _cleanup_close_ int directory = -1;
    Signal signal = {
        .kind = SIGNAL_MAPPING,
        .key = {.pid = record->pid, .exec_count = EXEC_COUNT_UNKNOWN},
        .protection = record->protection,
        .seen = instant_at(instant_now(), shown_us(perf, record)),
    };
    if (procfs_open(record->pid, &directory) < 0 ||
        proc_entry_start_ticks(directory, &signal.key.start_ticks) < 0 ||
        signal.key.start_ticks >
            shown_us(perf, record) * NSEC_PER_USEC / perf->context->clocks.ns_per_tick ||
        proc_entry_describe(directory, &signal) < 0)
        return false;
    *ret = signal;
    return true;
}

static void take_mapping(Perf *perf, const PerfRecord *record) {
    Input input = {.kind = INPUT_SIGNAL};
    if (!describe(perf, record, &input.signal))
        return;
    perf->context->counters.records++;
    PerfFollowed *followed = find_followed(perf, record->pid);
    if (followed && followed->mapped_us < shown_us(perf, record))
        followed->mapped_us = shown_us(perf, record);
    perf->told_us = shown_us(perf, record);
    context_signal(perf->context, &input);
    perf->told_us = 0;
}

static void take_execve(Perf *perf, const PerfRecord *record) {
    const PerfFollowed *found = find_followed(perf, record->pid);
    if (!found || shown_us(perf, record) <= found->begun_us)
        return;
    // Whoever is told of it has it followed no more.
    PerfFollowed followed = *found;
    perf->context->counters.records++;
    // Nothing here says how many there have been.
    followed.key.exec_count = EXEC_COUNT_UNKNOWN;
    Input input = {.kind = INPUT_EXEC, .exec = followed.key};
    context_yield(perf->context, &input);
    // The mapping of the program executed was taken for one of the program before.
    if (followed.mapped_us > shown_us(perf, record))
        perf->missed = true;
}

static void take(Perf *perf, const PerfRecord *record) {
    switch (record->kind) {
    case PERF_RECORD_KIND_OTHER:
        break;
    case PERF_RECORD_KIND_TEST:
        if (record->pid == getpid())
            take_mapping(perf, record);
        break;
    case PERF_RECORD_KIND_MAPPING:
        take_mapping(perf, record);
        break;
    case PERF_RECORD_KIND_EXECVE:
        take_execve(perf, record);
        break;
    case PERF_RECORD_KIND_LOSS:
        perf->context->counters.records_lost += record->lost;
        perf->missed = true;
        break;
    }
}

// One record as it lies in the ring, whose end may cut it: then it is put together in `whole`.
static const void *piece_together(const Perf *perf, const char *data, uint64_t tail, size_t size,
                                  char whole[static PERF_RECORD_LONGEST]) {
    size_t at = (size_t)tail & (perf->bytes - 1);
    size_t before_end = perf->bytes - at;
    if (size <= before_end)
        return data + at;
    memcpy(whole, data + at, before_end);
    memcpy(whole + before_end, data, size - before_end);
    return whole;
}

// True where records are left.
static bool read_ring(const PerfCpu *cpu) {
    Perf *perf = cpu->perf;
    const char *data = (const char *)cpu->ring + cpu->ring->data_offset;
    // The kernel writes data before it moves the head, and waits for the tail to move before it
    // writes there again.
    const uint64_t head = __atomic_load_n(&cpu->ring->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = cpu->ring->data_tail;
    for (unsigned n = 0; n < BOUND_PERF_RECORDS && tail != head;) {
        size_t size = perf_record_size(data + (tail & (perf->bytes - 1)));
        if (size == 0 || size > head - tail) {
            perf->context->counters.records_bad++;
            perf->missed = true;
            tail = head;
            break;
        }
        char whole[PERF_RECORD_LONGEST];
        PerfRecord record = {0};
        if (size <= PERF_RECORD_LONGEST &&
            !perf_record_decode(piece_together(perf, data, tail, size, whole), size, &record))
            perf->context->counters.records_bad++;
        tail += size;
        take(perf, &record);
        // What is looked for is looked up in /proc.
        n += record.kind == PERF_RECORD_KIND_MAPPING ? BOUND_PERF_RECORDS / BOUND_PERF_SIGNALS : 1;
    }
    __atomic_store_n(&cpu->ring->data_tail, tail, __ATOMIC_RELEASE);
    return tail != head;
}

static int on_turn(sd_event_source *source, void *userdata);

// A new source each time, so that it waits behind all others of its priority. Should there be none
// the next record wakes us, and the rest is read with it.
static void arrange_turn(PerfCpu *cpu) {
    cpu->turn = sd_event_source_disable_unref(cpu->turn);
    if (sd_event_add_defer(cpu->perf->context->event, &cpu->turn, on_turn, cpu) < 0 ||
        sd_event_source_set_priority(cpu->turn, PRIORITY_TURNS) < 0)
        cpu->turn = sd_event_source_disable_unref(cpu->turn);
}

static bool has_records(const PerfCpu *cpu) {
    return __atomic_load_n(&cpu->ring->data_head, __ATOMIC_ACQUIRE) != cpu->ring->data_tail;
}

// True where there was something to read.
static bool turn(PerfCpu *cpu) {
    Perf *perf = cpu->perf;
    const bool found = has_records(cpu);
    if (read_ring(cpu))
        arrange_turn(cpu);
    // Where nobody can be told now, the next turn tells.
    if (perf->missed && perf->loss(perf->userdata) >= 0)
        perf->missed = false;
    return found;
}

static int on_turn(__attribute__((unused)) sd_event_source *source, void *userdata) {
    turn(userdata);
    return 0;
}

// All there is, at most as much as the ring holds.
static void drain_ring(PerfCpu *cpu) {
    const size_t most = cpu->perf->bytes / PERF_RECORD_HEADER;
    for (size_t n = 0; n < most && read_ring(cpu); n += BOUND_PERF_SIGNALS)
        ;
}

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void close_cpu(PerfCpu *cpu) {
    sd_event_source_disable_unref(cpu->turn);
    sd_event_source_disable_unref(cpu->readable);
    sd_event_source_disable_unref(cpu->filling);
    if (cpu->ring)
        munmap(cpu->ring, page_size() + cpu->perf->bytes);
    if (cpu->woken)
        munmap(cpu->woken, 2 * page_size());
    safe_close(cpu->fd);
    safe_close(cpu->waker);
    *cpu = (PerfCpu){.perf = cpu->perf, .fd = -1, .waker = -1};
}

static int begin_pause(Perf *perf) {
    int r = sd_event_source_get_enabled(perf->pause, NULL);
    if (r != 0)
        return r;
    r = sd_event_source_set_time_relative(perf->pause,
                                          BOUND_PERF_PAUSE_MS * (uint64_t)USEC_PER_MSEC);
    return r < 0 ? r : sd_event_source_set_enabled(perf->pause, SD_EVENT_ONESHOT);
}

static int silence(const PerfCpu *cpu, bool silent) {
    return ioctl(cpu->waker, PERF_EVENT_IOC_PAUSE_OUTPUT, silent) < 0 ? -errno : 0;
}

static void on_pace(PerfCpu *cpu) {
    if (cpu->pace != PERF_WOKEN && turn(cpu))
        cpu->pace = silence(cpu, true) < 0 ? PERF_RESUMED : PERF_PAUSED;
    else if (cpu->pace == PERF_RESUMED)
        cpu->pace = PERF_WOKEN;
    else if (cpu->pace == PERF_PAUSED && silence(cpu, false) >= 0)
        cpu->pace = PERF_RESUMED;
}

// Without it each record wakes us, which costs more but misses nothing.
static void pause_all(Perf *perf) {
    if (begin_pause(perf) >= 0)
        return;
    for (size_t i = 0; i < perf->cpu_count; i++) {
        PerfCpu *cpu = &perf->cpus[i];
        if (cpu->pace == PERF_WOKEN || silence(cpu, false) < 0)
            continue;
        cpu->pace = PERF_WOKEN;
        turn(cpu);
    }
}

static int on_pause_end(__attribute__((unused)) sd_event_source *source,
                        __attribute__((unused)) uint64_t usec, void *userdata) {
    Perf *perf = userdata;
    bool goes_on = false;
    for (size_t i = 0; i < perf->cpu_count; i++) {
        on_pace(&perf->cpus[i]);
        goes_on |= perf->cpus[i].pace != PERF_WOKEN;
    }
    if (goes_on)
        pause_all(perf);
    return 0;
}

static int add_pause(Perf *perf) {
    // One microsecond of accuracy: the default is a quarter of a second.
    int r = sd_event_add_time(perf->context->event, &perf->pause, CLOCK_MONOTONIC, 0, 1,
                              on_pause_end, perf);
    if (r >= 0)
        r = sd_event_source_set_enabled(perf->pause, SD_EVENT_OFF);
    return r < 0 ? r : sd_event_source_set_priority(perf->pause, PRIORITY_RECORDS);
}

static int on_readable(__attribute__((unused)) sd_event_source *source,
                       __attribute__((unused)) int fd, uint32_t revents, void *userdata) {
    PerfCpu *cpu = userdata;
    turn(cpu);
    // The event is no more, and would be readable for ever.
    if (revents & (EPOLLHUP | EPOLLERR)) {
        close_cpu(cpu);
        return 0;
    }
    cpu->pace = silence(cpu, true) < 0 ? PERF_RESUMED : PERF_PAUSED;
    pause_all(cpu->perf);
    return 0;
}

static int open_event(const PerfCpu *cpu, bool wakes) {
    const Perf *perf = cpu->perf;
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TIME,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_BOOTTIME,
        // Those that can be executed, all others (the runtime's), and both with their protection.
        .mmap = 1,
        .mmap_data = 1,
        .mmap2 = 1,
        .comm = perf->exec,
        .comm_exec = perf->exec,
        // wakeup_events counts no records of this kind. By default it is half of the ring.
        .watermark = wakes,
        .wakeup_watermark = wakes,
    };
    long fd = syscall(SYS_perf_event_open, &attributes, -1, (int)(cpu - perf->cpus), -1,
                      PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static int map_ring(int fd, size_t bytes, int protection, struct perf_event_mmap_page **ret) {
    void *ring = mmap(NULL, page_size() + bytes, protection, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED)
        return -errno;
    *ret = ring;
    return 0;
}

// The waker first, for kernels write to the event opened last before.
static int open_events(PerfCpu *cpu) {
    int r = cpu->waker = open_event(cpu, true);
    // One that cannot be written to is never full.
    if (r >= 0)
        r = map_ring(cpu->waker, page_size(), PROT_READ, &cpu->woken);
    if (r >= 0)
        r = cpu->fd = open_event(cpu, false);
    return r < 0 ? r : map_ring(cpu->fd, cpu->perf->bytes, PROT_READ | PROT_WRITE, &cpu->ring);
}

static int await_readable(PerfCpu *cpu, int fd, sd_event_source **ret) {
    int r = sd_event_add_io(cpu->perf->context->event, ret, fd, EPOLLIN, on_readable, cpu);
    return r < 0 ? r : sd_event_source_set_priority(*ret, PRIORITY_RECORDS);
}

static int open_cpu(PerfCpu *cpu) {
    int r = open_events(cpu);
    if (r >= 0)
        r = await_readable(cpu, cpu->waker, &cpu->readable);
    if (r >= 0)
        r = await_readable(cpu, cpu->fd, &cpu->filling);
    if (r < 0)
        return r;
    // To ask whether a descriptor is readable, as that and perf_wait() do, takes it back.
    cpu->pace = PERF_RESUMED;
    return begin_pause(cpu->perf);
}

// 0 also where the CPU is not online.
static int try_cpu(PerfCpu *cpu) {
    int r = open_cpu(cpu);
    if (r >= 0)
        return 0;
    close_cpu(cpu);
    return r == -ENODEV ? 0 : r;
}

// An event ends with its CPU and does not begin again with it: its time then stands still.
static bool is_at_work(PerfCpu *cpu) {
    struct {
        uint64_t value, enabled_ns;
    } counts;
    if (read(cpu->fd, &counts, sizeof counts) != sizeof counts ||
        counts.enabled_ns <= cpu->enabled_ns)
        return false;
    cpu->enabled_ns = counts.enabled_ns;
    return true;
}

void perf_refresh(Perf *perf) {
    for (size_t i = 0; i < perf->cpu_count; i++) {
        PerfCpu *cpu = &perf->cpus[i];
        if (cpu->fd >= 0 && is_at_work(cpu))
            continue;
        if (cpu->fd >= 0)
            drain_ring(cpu);
        close_cpu(cpu);
        int r = try_cpu(cpu);
        if (r < 0)
            log_debug("CPU %zu is not watched: %s.", i, strerrorname_np(-r));
    }
}

// A power of two, as is `wanted`: all CPUs that there may ever be share the sum.
static size_t ring_bytes(size_t wanted, size_t cpus) {
    size_t most = BOUND_PERF_BYTES;
    while (most > BOUND_PERF_BYTES_OF_ALL / cpus)
        most /= 2;
    const size_t bytes = wanted < most ? wanted : most;
    return bytes > page_size() ? bytes : page_size();
}

int perf_init(Perf *perf, Context *context, size_t bytes, bool exec, PerfLoss loss,
              void *userdata) {
    *perf = (Perf){
        .context = context,
        .bytes = ring_bytes(bytes, context->kernel.cpus),
        .exec = exec,
        .loss = loss,
        .userdata = userdata,
        .cpus = calloc(context->kernel.cpus, sizeof *perf->cpus),
    };
    if (!perf->cpus)
        return -ENOMEM;
    int r = add_pause(perf);
    for (size_t i = 0; r >= 0 && i < context->kernel.cpus; i++) {
        PerfCpu *cpu = &perf->cpus[perf->cpu_count++];
        *cpu = (PerfCpu){.perf = perf, .fd = -1, .waker = -1};
        r = try_cpu(cpu);
    }
    return r < 0 ? r : 0;
}

void perf_done(Perf *perf) {
    for (size_t i = 0; i < perf->cpu_count; i++)
        close_cpu(&perf->cpus[i]);
    sd_event_source_disable_unref(perf->pause);
    free(perf->cpus);
    tdestroy(perf->followed, free);
    *perf = (Perf){0};
}

int perf_wait(Perf *perf, int timeout_ms) {
    _cleanup_free_ struct pollfd *polls = calloc(perf->cpu_count, sizeof *polls);
    if (!polls)
        return -ENOMEM;
    for (size_t i = 0; i < perf->cpu_count; i++)
        polls[i] = (struct pollfd){.fd = perf->cpus[i].waker, .events = POLLIN};
    int r = poll(polls, perf->cpu_count, timeout_ms);
    return r < 0 && errno != EINTR ? -errno : 0;
}

void perf_drain(Perf *perf) {
    for (size_t i = 0; i < perf->cpu_count; i++) {
        PerfCpu *cpu = &perf->cpus[i];
        if (cpu->fd < 0)
            continue;
        drain_ring(cpu);
        turn(cpu);
    }
}
