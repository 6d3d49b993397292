// Opens, configures, loads and attaches the kernel side. Each program is a feature of its own: one
// that the kernel, its configuration or the daemon's privileges refuse leaves the others at work
// and becomes a sentence about what is missing, what that costs and what to do.
// SPDX-License-Identifier: MIT
#include "kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "discovery.skel.h"
#include "discovery_record.h"
#include "log.h"

DEFINE_CLEANUP(struct discovery *, discovery__destroy);

static const struct {
    const char *name;
    const char *kind;
    const char *cost; // of doing without
} features[PROGRAM_COUNT_] = {
    [PROGRAM_MAPPING] = {"mapping", "tracepoint syscalls/sys_enter_mmap",
                         "a process that starts is not noticed by its mapping"},
    [PROGRAM_LISTEN] = {"listen", "tracepoint syscalls/sys_enter_listen",
                        "a process that starts is not noticed by its socket, and those of runtimes "
                        "before 10.0.5 have no mapping"},
    [PROGRAM_EXEC] = {"exec", "raw tracepoint sched_process_exec",
                      "a process that executes another program stays listed until it ends"},
    [PROGRAM_SCAN] = {"scan", "iterator task_file",
                      "what runs already is found by reading /proc, which takes longer"},
};

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

static struct bpf_program *program_of(const struct discovery *object, ProgramId id) {
    switch (id) {
    case PROGRAM_MAPPING:
        return object->progs.discover_mapping;
    case PROGRAM_LISTEN:
        return object->progs.discover_listen;
    case PROGRAM_EXEC:
        return object->progs.discover_exec;
    case PROGRAM_SCAN:
        return object->progs.discover_scan;
    case PROGRAM_COUNT_:
        break;
    }
    return NULL;
}

static const char *remedy(ProgramId id, int error) {
    if (error == -EPERM || error == -EACCES)
        return "run as root, or with CAP_BPF and CAP_PERFMON";
    if (access("/sys/kernel/btf/vmlinux", F_OK) < 0)
        return "use a kernel with BTF (CONFIG_DEBUG_INFO_BTF)";
    if ((id == PROGRAM_MAPPING || id == PROGRAM_LISTEN) && error == -ENOENT) {
        if (access("/sys/kernel/tracing/events", F_OK) < 0)
            return "as root: mount -t tracefs tracefs /sys/kernel/tracing, and restart the daemon";
        return "use a kernel with syscall tracepoints (CONFIG_FTRACE_SYSCALLS)";
    }
    return "the log at level debug has the kernel's reason";
}

static int report_missing(Program *program, ProgramId id, const char *what, int error) {
    const char *name = strerrorname_np(-error);
    char *detail;
    if (asprintf(&detail, "the kernel program %s is %s (%s): %s; %s", features[id].name, what,
                 name ? name : "unknown error", features[id].cost, remedy(id, error)) < 0)
        return -ENOMEM;
    free(program->detail);
    program->detail = detail;
    return 0;
}

static int report_left_out(Program *program, ProgramId id) {
    if (asprintf(&program->detail, "the kernel program %s is left out on request: %s",
                 features[id].name, features[id].cost) < 0) {
        program->detail = NULL;
        return -ENOMEM;
    }
    return 0;
}

static int configure(struct discovery *object, const SourceOptions *options, const bool wanted[]) {
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) < 0)
        return -errno;
    object->rodata->daemon_pid_namespace = (__u32)st.st_ino;
    // Besides those followed, one entry for each record on its way: the kernel side enters a
    // process before the daemon has decided about it.
    size_t followed = options->processes + options->ring_bytes / sizeof(struct discovery_record);
    int r = bpf_map__set_max_entries(object->maps.followed, (__u32)followed);
    if (r == 0)
        r = bpf_map__set_max_entries(object->maps.records, (__u32)options->ring_bytes);
    for (ProgramId id = 0; r == 0 && id < PROGRAM_COUNT_; id++)
        r = bpf_program__set_autoload(program_of(object, id), wanted[id]);
    return r;
}

static int load_object(const SourceOptions *options, const bool wanted[], struct discovery **ret) {
    _cleanup_(discovery__destroyp) struct discovery *object = discovery__open();
    if (!object)
        return -errno;
    int r = configure(object, options, wanted);
    if (r == 0)
        r = discovery__load(object);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(object);
    return 0;
}

// The object loads as a whole or not at all, and does not say which program was refused: each is
// tried alone.
static int drop_refused(Kernel *kernel, const SourceOptions *options, bool wanted[]) {
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++) {
        if (!wanted[id])
            continue;
        bool alone[PROGRAM_COUNT_] = {false};
        alone[id] = true;
        _cleanup_(discovery__destroyp) struct discovery *trial = NULL;
        int error = load_object(options, alone, &trial);
        if (error == 0)
            continue;
        wanted[id] = false;
        int r = report_missing(&kernel->programs[id], id, "not loaded", error);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool any(const bool wanted[]) {
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++)
        if (wanted[id])
            return true;
    return false;
}

static int load(Kernel *kernel, const SourceOptions *options) {
    bool wanted[PROGRAM_COUNT_];
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++) {
        wanted[id] = !options->without[id];
        int r = wanted[id] ? 0 : report_left_out(&kernel->programs[id], id);
        if (r < 0)
            return r;
    }
    if (!any(wanted) || load_object(options, wanted, &kernel->object) == 0)
        return 0;
    int r = drop_refused(kernel, options, wanted);
    if (r < 0)
        return r;
    // Each alone was accepted; should they not be together, all are missing.
    int error = any(wanted) ? load_object(options, wanted, &kernel->object) : 0;
    for (ProgramId id = 0; error < 0 && id < PROGRAM_COUNT_; id++) {
        r = wanted[id] ? report_missing(&kernel->programs[id], id, "not loaded", error) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int attach(Kernel *kernel) {
    for (ProgramId id = 0; kernel->object && id < PROGRAM_COUNT_; id++) {
        struct bpf_program *program = program_of(kernel->object, id);
        if (!bpf_program__autoload(program))
            continue;
        kernel->links[id] = bpf_program__attach(program);
        kernel->programs[id].attached = kernel->links[id] != NULL;
        int r = kernel->links[id]
                    ? 0
                    : report_missing(&kernel->programs[id], id, "not attached", -errno);
        if (r < 0)
            return r;
    }
    return 0;
}

int kernel_init(Kernel *kernel, const SourceOptions *options) {
    *kernel = (Kernel){0};
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++) {
        kernel->programs[id].name = features[id].name;
        kernel->programs[id].kind = features[id].kind;
    }
    libbpf_set_print(log_libbpf);
    int cpus = libbpf_num_possible_cpus();
    kernel->cpus = cpus > 0 ? (size_t)cpus : 1;
    kernel->lost = calloc(kernel->cpus, sizeof *kernel->lost);
    int r = kernel->lost ? load(kernel, options) : -ENOMEM;
    return r < 0 ? r : attach(kernel);
}

void kernel_done(Kernel *kernel) {
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++) {
        bpf_link__destroy(kernel->links[id]);
        free(kernel->programs[id].detail);
    }
    discovery__destroy(kernel->object);
    free(kernel->lost);
    *kernel = (Kernel){0};
}

int kernel_records(const Kernel *kernel) {
    return kernel->object ? bpf_map__fd(kernel->object->maps.records) : -1;
}

uint64_t kernel_lost(const Kernel *kernel) {
    uint32_t zero = 0;
    uint64_t sum = 0;
    if (!kernel->object ||
        bpf_map_lookup_elem(bpf_map__fd(kernel->object->maps.lost), &zero, kernel->lost) < 0)
        return 0;
    for (size_t i = 0; i < kernel->cpus; i++)
        sum += kernel->lost[i];
    return sum;
}

int kernel_open_scan(const Kernel *kernel) {
    const struct bpf_link *link = kernel->links[PROGRAM_SCAN];
    return link ? bpf_iter_create(bpf_link__fd(link)) : -EOPNOTSUPP;
}

void kernel_remember(const Kernel *kernel, const ProcessKey *key) {
    uint32_t pid = (uint32_t)key->pid;
    if (kernel->object)
        bpf_map_update_elem(bpf_map__fd(kernel->object->maps.followed), &pid, &key->exec_count,
                            BPF_NOEXIST);
}

void kernel_forget(const Kernel *kernel, pid_t pid, uint64_t exec_count) {
    if (!kernel->object)
        return;
    int map = bpf_map__fd(kernel->object->maps.followed);
    uint32_t key = (uint32_t)pid;
    uint64_t entered;
    if (exec_count != EXEC_COUNT_UNKNOWN &&
        (bpf_map_lookup_elem(map, &key, &entered) < 0 || entered != exec_count))
        return;
    bpf_map_delete_elem(map, &key);
}
