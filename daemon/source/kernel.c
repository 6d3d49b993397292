// The maps, which outlive every attempt at a mechanism, and the programs exec and scan, each of
// them a feature of its own: one that the kernel, its configuration or the daemon's privileges
// refuse leaves the rest at work and becomes a sentence about what is missing, what that costs and
// what to do. Once loaded only descriptors are kept: libbpf's object would take more memory than
// all else.
// SPDX-License-Identifier: MIT
#include "kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "discovery.skel.h"
#include "discovery_record.h"
#include "log.h"
#include "programs.h"
#include "refusal.h"

DEFINE_CLEANUP(struct discovery *, discovery__destroy);

// libbpf explains a refusal over many lines; they are for whoever debugs the daemon.
__attribute__((format(printf, 2, 0))) static int
log_libbpf(__attribute__((unused)) enum libbpf_print_level level, const char *format,
           va_list args) {
    if (log_level() < LOG_DEBUG)
        return 0;
    _cleanup_free_ char *text = NULL;
    int n = vasprintf(&text, format, args);
    if (n < 0) {
        text = NULL;
        return 0;
    }
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        log_debug("%s", line);
    return n;
}

static int miss(Kernel *kernel, ProgramId id, const char *what, int error) {
    return programs_miss(kernel->programs, id, "%s (%s; %s)", what, refusal_name(error),
                         refusal_remedy(error));
}

static int configure(struct discovery *object, const SourceOptions *options) {
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) < 0)
        return -errno;
    object->rodata->daemon_pid_namespace = (__u32)st.st_ino;
    object->rodata->daemon_pid = (__u32)getpid();
    if (!options->without[PROGRAM_MAPPING])
        object->rodata->number_mmap = SYS_mmap;
    if (!options->without[PROGRAM_LISTEN])
        object->rodata->number_listen = SYS_listen;
    // Besides those followed, one entry for each record on its way: the kernel side enters a
    // process before the daemon has decided about it.
    size_t followed = options->processes + options->ring_bytes / sizeof(struct discovery_record);
    int r = bpf_map__set_max_entries(object->maps.followed, (__u32)followed);
    if (r == 0)
        r = bpf_map__set_max_entries(object->maps.records, (__u32)options->ring_bytes);
    struct bpf_program *program;
    bpf_object__for_each_program(program, object->obj) {
        if (r == 0)
            r = bpf_program__set_autoload(program, false);
    }
    return r;
}

static int share_maps(const Kernel *kernel, struct discovery *object) {
    int r = bpf_map__reuse_fd(object->maps.records, kernel->records);
    if (r == 0)
        r = bpf_map__reuse_fd(object->maps.followed, kernel->followed);
    return r < 0 ? r : bpf_map__reuse_fd(object->maps.lost, kernel->lost);
}

int kernel_open(const Kernel *kernel, struct discovery **ret) {
    _cleanup_(discovery__destroyp) struct discovery *object = discovery__open();
    if (!object)
        return -errno;
    int r = configure(object, kernel->options);
    if (r == 0 && kernel->records >= 0)
        r = share_maps(kernel, object);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(object);
    return 0;
}

static struct bpf_program *program_of(const struct discovery *object, ProgramId id) {
    return id == PROGRAM_EXEC ? object->progs.discover_exec : object->progs.discover_scan;
}

static int load(const Kernel *kernel, const bool wanted[], struct discovery **ret) {
    _cleanup_(discovery__destroyp) struct discovery *object = NULL;
    int r = kernel_open(kernel, &object);
    for (ProgramId id = PROGRAM_EXEC; r == 0 && id <= PROGRAM_SCAN; id++)
        r = bpf_program__set_autoload(program_of(object, id), wanted[id]);
    if (r == 0)
        r = discovery__load(object);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(object);
    return 0;
}

// The object loads as a whole or not at all, and does not say which program was refused: each is
// tried alone. Then what is left, which may be the maps alone.
static int load_accepted(Kernel *kernel, bool wanted[], struct discovery **ret) {
    for (ProgramId id = PROGRAM_EXEC; id <= PROGRAM_SCAN; id++) {
        if (!wanted[id])
            continue;
        bool alone[PROGRAM_COUNT_] = {false};
        alone[id] = true;
        _cleanup_(discovery__destroyp) struct discovery *trial = NULL;
        int error = load(kernel, alone, &trial);
        if (error == 0)
            continue;
        wanted[id] = false;
        int r = miss(kernel, id, "not loaded", error);
        if (r < 0)
            return r;
    }
    kernel->error = load(kernel, wanted, ret);
    return 0;
}

static void close_maps(Kernel *kernel) {
    kernel->records = safe_close(kernel->records);
    kernel->followed = safe_close(kernel->followed);
    kernel->lost = safe_close(kernel->lost);
}

// Copies, since the object is not kept; all or none.
static int keep_maps(Kernel *kernel, const struct discovery *object) {
    if ((kernel->records = fcntl(bpf_map__fd(object->maps.records), F_DUPFD_CLOEXEC, 3)) >= 0 &&
        (kernel->followed = fcntl(bpf_map__fd(object->maps.followed), F_DUPFD_CLOEXEC, 3)) >= 0 &&
        (kernel->lost = fcntl(bpf_map__fd(object->maps.lost), F_DUPFD_CLOEXEC, 3)) >= 0)
        return 0;
    int error = -errno;
    close_maps(kernel);
    return error;
}

static int attach(Kernel *kernel, const struct discovery *object, ProgramId id) {
    kernel->links[id] = bpf_program__attach(program_of(object, id));
    if (!kernel->links[id])
        return miss(kernel, id, "not attached", -errno);
    programs_have(kernel->programs, id, NULL);
    return 0;
}

static int load_and_attach(Kernel *kernel) {
    bool wanted[PROGRAM_COUNT_] = {false};
    for (ProgramId id = PROGRAM_EXEC; id <= PROGRAM_SCAN; id++)
        wanted[id] = !kernel->options->without[id];
    _cleanup_(discovery__destroyp) struct discovery *object = NULL;
    int r = load(kernel, wanted, &object) == 0 ? 0 : load_accepted(kernel, wanted, &object);
    if (object)
        kernel->error = keep_maps(kernel, object);
    for (ProgramId id = PROGRAM_EXEC; r == 0 && id <= PROGRAM_SCAN; id++) {
        if (wanted[id])
            r = kernel->error < 0 ? miss(kernel, id, "not loaded", kernel->error)
                                  : attach(kernel, object, id);
    }
    return r;
}

size_t kernel_cpus(void) {
    int cpus = libbpf_num_possible_cpus();
    return cpus > 0 ? (size_t)cpus : 1;
}

int kernel_init(Kernel *kernel, const SourceOptions *options,
                Program programs[static PROGRAM_COUNT_]) {
    *kernel = (Kernel){
        .options = options,
        .programs = programs,
        .records = -1,
        .followed = -1,
        .lost = -1,
        .cpus = kernel_cpus(),
    };
    libbpf_set_print(log_libbpf);
    kernel->lost_counts = calloc(kernel->cpus, sizeof *kernel->lost_counts);
    return kernel->lost_counts ? load_and_attach(kernel) : -ENOMEM;
}

void kernel_done(Kernel *kernel) {
    // Otherwise nothing was made.
    if (!kernel->lost_counts)
        return;
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++)
        bpf_link__destroy(kernel->links[id]);
    close_maps(kernel);
    free(kernel->lost_counts);
    *kernel = (Kernel){0};
}

uint64_t kernel_lost(const Kernel *kernel) {
    uint32_t zero = 0;
    uint64_t sum = 0;
    if (kernel->lost < 0 || bpf_map_lookup_elem(kernel->lost, &zero, kernel->lost_counts) < 0)
        return 0;
    for (size_t i = 0; i < kernel->cpus; i++)
        sum += kernel->lost_counts[i];
    return sum;
}

int kernel_open_scan(const Kernel *kernel) {
    const struct bpf_link *link = kernel->links[PROGRAM_SCAN];
    return link ? bpf_iter_create(bpf_link__fd(link)) : -EOPNOTSUPP;
}

void kernel_remember(const Kernel *kernel, const ProcessKey *key) {
    uint32_t pid = (uint32_t)key->pid;
    if (kernel->followed >= 0)
        bpf_map_update_elem(kernel->followed, &pid, &key->exec_count, BPF_NOEXIST);
}

void kernel_forget(const Kernel *kernel, pid_t pid, uint64_t exec_count) {
    if (kernel->followed < 0)
        return;
    uint32_t key = (uint32_t)pid;
    uint64_t entered;
    if (exec_count != EXEC_COUNT_UNKNOWN &&
        (bpf_map_lookup_elem(kernel->followed, &key, &entered) < 0 || entered != exec_count))
        return;
    bpf_map_delete_elem(kernel->followed, &key);
}
