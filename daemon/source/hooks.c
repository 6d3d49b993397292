// Which functions a kernel has, its BTF says; versions say little of vendors' kernels. What can be
// asked is asked before anything is loaded, for an answer that names what is missing: the kernel's
// own is a number, and every load costs the time of reading all of its BTF.
// SPDX-License-Identifier: MIT
#include "hooks.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "discovery.skel.h"
#include "macro.h"
#include "refusal.h"
#include "tracefs.h"

DEFINE_CLEANUP(struct discovery *, discovery__destroy);
DEFINE_CLEANUP(struct btf *, btf__free);

typedef enum HookRole {
    HOOK_MAIN,
    HOOK_INSTEAD, // where there is no main one
    HOOK_BESIDE,  // where there is one
} HookRole;

typedef struct Hook {
    MechanismId mechanism;
    ProgramId id;
    HookRole role;
    const char *program;
    const char *place; // as Program.kind has it; of fentry and kprobe: the kernel's function
} Hook;

static const char not_loaded[] = "its programs were not loaded";

static const Hook table[] = {
    {MECHANISM_FENTRY, PROGRAM_MAPPING, HOOK_MAIN, "fentry_shmem_mmap", "shmem_mmap"},
    {MECHANISM_FENTRY, PROGRAM_MAPPING, HOOK_MAIN, "fentry_shmem_prepare", "shmem_mmap_prepare"},
    {MECHANISM_FENTRY, PROGRAM_MAPPING, HOOK_INSTEAD, "fentry_security", "security_mmap_file"},
    {MECHANISM_FENTRY, PROGRAM_MAPPING, HOOK_BESIDE, "fentry_hugetlb_mmap", "hugetlbfs_file_mmap"},
    {MECHANISM_FENTRY, PROGRAM_MAPPING, HOOK_BESIDE, "fentry_hugetlb_prepare",
     "hugetlbfs_file_mmap_prepare"},
    {MECHANISM_FENTRY, PROGRAM_LISTEN, HOOK_MAIN, "fexit_unix_listen", "unix_listen"},
    {MECHANISM_KPROBE, PROGRAM_MAPPING, HOOK_MAIN, "kprobe_mmap", "shmem_mmap"},
    {MECHANISM_KPROBE, PROGRAM_MAPPING, HOOK_MAIN, "kprobe_mmap_prepare", "shmem_mmap_prepare"},
    {MECHANISM_KPROBE, PROGRAM_MAPPING, HOOK_INSTEAD, "kprobe_security", "security_mmap_file"},
    {MECHANISM_KPROBE, PROGRAM_MAPPING, HOOK_BESIDE, "kprobe_mmap", "hugetlbfs_file_mmap"},
    {MECHANISM_KPROBE, PROGRAM_MAPPING, HOOK_BESIDE, "kprobe_mmap_prepare",
     "hugetlbfs_file_mmap_prepare"},
    {MECHANISM_KPROBE, PROGRAM_LISTEN, HOOK_MAIN, "kprobe_unix_listen", "unix_listen"},
    {MECHANISM_SYSCALL_TRACEPOINT, PROGRAM_MAPPING, HOOK_MAIN, "syscall_mmap",
     "syscalls/sys_enter_mmap"},
    {MECHANISM_SYSCALL_TRACEPOINT, PROGRAM_LISTEN, HOOK_MAIN, "syscall_listen",
     "syscalls/sys_enter_listen"},
    {MECHANISM_RAW_TRACEPOINT, PROGRAM_MAPPING, HOOK_MAIN, "raw_sys_enter", "sys_enter"},
    // The same one.
    {MECHANISM_RAW_TRACEPOINT, PROGRAM_LISTEN, HOOK_MAIN, "raw_sys_enter", "sys_enter"},
};

typedef struct Choice {
    const Hook *hooks[HOOKS_MAX];
    size_t count;
} Choice;

static bool has_chosen(const Choice *choice, ProgramId id) {
    for (size_t i = 0; i < choice->count; i++)
        if (choice->hooks[i]->id == id)
            return true;
    return false;
}

static Choice choose(MechanismId mechanism, const bool without[], const struct btf *functions) {
    Choice choice = {0};
    bool has_main = false;
    for (const Hook *hook = table; hook < table + ELEMENTS_OF(table); hook++) {
        if (hook->mechanism != mechanism || without[hook->id] ||
            (hook->role == HOOK_INSTEAD && has_main) || (hook->role == HOOK_BESIDE && !has_main) ||
            (functions && btf__find_by_name_kind(functions, hook->place, BTF_KIND_FUNC) < 0))
            continue;
        has_main |= hook->role == HOOK_MAIN;
        assert(choice.count < HOOKS_MAX);
        choice.hooks[choice.count++] = hook;
    }
    return choice;
}

// What the places of a program are called, the first after "fentry " and the like.
static void name_places(const Choice *choice, ProgramId id, char ret[static HOOKS_KIND_SIZE]) {
    static const char *const words[MECHANISM_COUNT_] = {
        [MECHANISM_FENTRY] = "fentry",
        [MECHANISM_KPROBE] = "kprobe",
        [MECHANISM_SYSCALL_TRACEPOINT] = "tracepoint",
        [MECHANISM_RAW_TRACEPOINT] = "raw tracepoint",
    };
    int used = 0;
    for (size_t i = 0; i < choice->count && used < HOOKS_KIND_SIZE; i++) {
        const Hook *hook = choice->hooks[i];
        if (hook->id != id)
            continue;
        const char *word = hook->mechanism == MECHANISM_FENTRY && id == PROGRAM_LISTEN
                               ? "fexit"
                               : words[hook->mechanism];
        used += snprintf(ret + used, (size_t)(HOOKS_KIND_SIZE - used), "%s%s%s", used ? ", " : word,
                         used ? "" : " ", hook->place);
    }
}

static int refuse(char **ret_why, const char *what, int error) {
    char *why;
    if (asprintf(&why, "%s (%s): %s", what, refusal_name(error), refusal_remedy(error)) < 0)
        return -ENOMEM;
    *ret_why = why;
    return HOOKS_REFUSED;
}

static int refuse_place(char **ret_why, const Hook *hook, int error) {
    const bool by_perf =
        hook->mechanism == MECHANISM_KPROBE || hook->mechanism == MECHANISM_SYSCALL_TRACEPOINT;
    char *why;
    if (asprintf(&why, "it could not be attached to %s (%s): %s", hook->place, refusal_name(error),
                 by_perf ? refusal_remedy_of_perf(error) : refusal_remedy(error)) < 0)
        return -ENOMEM;
    *ret_why = why;
    return HOOKS_REFUSED;
}

static int refuse_for(char **ret_why, const char *why) {
    *ret_why = strdup(why);
    return *ret_why ? HOOKS_REFUSED : -ENOMEM;
}

// What the kernel lacks, NULL where nothing is known to be missing.
static const char *lacking(MechanismId mechanism) {
    if (mechanism == MECHANISM_KPROBE && access("/sys/bus/event_source/devices/kprobe", F_OK) < 0)
        return "this kernel has no kprobes: use one with CONFIG_KPROBE_EVENTS";
    if (mechanism != MECHANISM_SYSCALL_TRACEPOINT)
        return NULL;
    int r = tracefs_access("events", F_OK);
    if (r < 0) {
        if (r == -EACCES)
            return "tracefs cannot be read (EACCES): run as root, or let the daemon read "
                   "/sys/kernel/tracing";
        if (refusal_is_locked_down())
            return "the kernel is locked down and has nothing in tracefs: boot with "
                   "lockdown=integrity or none, not confidentiality";
        return "tracefs is not mounted: as root, mount -t tracefs tracefs /sys/kernel/tracing, and "
               "restart the daemon";
    }
    if (tracefs_access("events/syscalls/sys_enter_mmap", F_OK) == -ENOENT)
        return "this kernel has no tracepoints for system calls: use one with "
               "CONFIG_FTRACE_SYSCALLS";
    return NULL;
}

static struct bpf_program *program_of(const struct discovery *object, const Hook *hook) {
    return bpf_object__find_program_by_name(object->obj, hook->program);
}

static int load(const Kernel *kernel, const Choice *choice, struct discovery **ret) {
    _cleanup_(discovery__destroyp) struct discovery *object = NULL;
    int r = kernel_open(kernel, &object);
    for (size_t i = 0; r == 0 && i < choice->count; i++)
        r = bpf_program__set_autoload(program_of(object, choice->hooks[i]), true);
    if (r == 0)
        r = discovery__load(object);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(object);
    return 0;
}

static int attach(Hooks *hooks, const struct discovery *object, const Choice *choice,
                  char **ret_why) {
    for (size_t i = 0; i < choice->count; i++) {
        const Hook *hook = choice->hooks[i];
        if (hook->mechanism == MECHANISM_RAW_TRACEPOINT && hooks->count > 0)
            break;
        const struct bpf_program *program = program_of(object, hook);
        struct bpf_link *link = hook->mechanism == MECHANISM_KPROBE
                                    ? bpf_program__attach_kprobe(program, false, hook->place)
                                    : bpf_program__attach(program);
        if (!link) {
            int error = -errno;
            hooks_done(hooks);
            if (hook->mechanism == MECHANISM_SYSCALL_TRACEPOINT && error == -EACCES &&
                !refusal_is_perf_restricted())
                return refuse_for(ret_why, "this kernel hands other arguments to programs at "
                                           "tracepoints of system calls (EACCES)");
            return refuse_place(ret_why, hook, error);
        }
        hooks->links[hooks->count++] = link;
    }
    return HOOKS_ATTACHED;
}

// An empty program: a kernel that has the functions may still permit none there, which it says at
// once and not after all that loading a real one takes.
static int try_fentry(const struct btf *functions, const Hook *hook) {
    static const struct bpf_insn empty[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    const struct bpf_prog_load_opts options = {
        .sz = sizeof options,
        .expected_attach_type = BPF_TRACE_FENTRY,
        .attach_btf_id = (__u32)btf__find_by_name_kind(functions, hook->place, BTF_KIND_FUNC),
    };
    _cleanup_close_ int fd =
        bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", empty, ELEMENTS_OF(empty), &options);
    return fd < 0 ? fd : 0;
}

// Which of the places there are, before anything is loaded.
static int look(const Kernel *kernel, MechanismId mechanism, Choice *ret, char **ret_why) {
    const char *lack = lacking(mechanism);
    if (lack)
        return refuse_for(ret_why, lack);
    _cleanup_(btf__freep) struct btf *functions = NULL;
    if (mechanism == MECHANISM_FENTRY || mechanism == MECHANISM_KPROBE) {
        functions = btf__load_vmlinux_btf();
        if (!functions)
            return refuse(ret_why, "the kernel's BTF could not be read", -errno);
    }
    const bool *without = kernel->options->without;
    *ret = choose(mechanism, without, functions);
    if (!without[PROGRAM_MAPPING] && !has_chosen(ret, PROGRAM_MAPPING))
        return refuse_for(ret_why, "this kernel has none of the functions to hook for mappings");
    if (!without[PROGRAM_LISTEN] && !has_chosen(ret, PROGRAM_LISTEN))
        return refuse_for(ret_why, "this kernel has no function unix_listen to hook");
    int error = mechanism == MECHANISM_FENTRY ? try_fentry(functions, ret->hooks[0]) : 0;
    return error < 0 ? refuse(ret_why, not_loaded, error) : HOOKS_ATTACHED;
}

int hooks_attach(Hooks *hooks, const Kernel *kernel, MechanismId mechanism, char **ret_why) {
    *hooks = (Hooks){0};
    if (kernel->error < 0)
        return refuse(ret_why, "no map or program of BPF can be made", kernel->error);
    Choice choice;
    int r = look(kernel, mechanism, &choice, ret_why);
    if (r != HOOKS_ATTACHED)
        return r;
    _cleanup_(discovery__destroyp) struct discovery *object = NULL;
    int error = load(kernel, &choice, &object);
    if (error < 0)
        return refuse(ret_why, not_loaded, error);
    name_places(&choice, PROGRAM_MAPPING, hooks->mapping);
    name_places(&choice, PROGRAM_LISTEN, hooks->listen);
    return attach(hooks, object, &choice, ret_why);
}

void hooks_done(Hooks *hooks) {
    for (size_t i = 0; i < hooks->count; i++)
        bpf_link__destroy(hooks->links[i]);
    *hooks = (Hooks){0};
}
