// The items that need no daemon and those that an attempt yields. Each says what was seen, and
// where it is not well, what to do.
// SPDX-License-Identifier: MIT
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "discovery_names.h"
#include "macro.h"
#include "privileges.h"
#include "procfs.h"
#include "procfs_text.h"
#include "text.h"
#include "tracefs.h"
#include "varlink.h"
#include "watching.h"

void check_add(CheckItems *items, const char *name, bool ok, const char *detail, ...) {
    if (items->count == ELEMENTS_OF(items->items))
        return;
    CheckItem item = {.name = name, .ok = ok};
    if (detail) {
        va_list arguments;
        va_start(arguments, detail);
        if (vasprintf(&item.detail, detail, arguments) < 0)
            item.detail = NULL;
        va_end(arguments);
    }
    items->items[items->count++] = item;
}

static void check_kernel(CheckItems *items) {
    struct utsname name;
    unsigned major = 0, minor = 0;
    uname(&name);
    sscanf(name.release, "%u.%u", &major, &minor);
    bool ok = major > 5 || (major == 5 && minor >= 10);
    check_add(items, "kernel", ok, ok ? "%s" : "%s: 5.10 or later is needed", name.release);

    ok = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
    check_add(items, "btf", ok,
              ok ? "/sys/kernel/btf/vmlinux"
                 : "/sys/kernel/btf/vmlinux cannot be read: the kernel programs need a kernel "
                   "built with CONFIG_DEBUG_INFO_BTF");
}

// Of no account where what is used costs less than tracepoints.
static void check_tracefs(const Source *source, CheckItems *items) {
    MechanismId used = source_mechanism(source);
    int r = tracefs_access("events/syscalls/sys_enter_mmap/id", R_OK);
    if (r == 0)
        check_add(items, "tracefs", true, "the tracepoint sys_enter_mmap is there");
    else if (used < MECHANISM_SYSCALL_TRACEPOINT)
        check_add(items, "tracefs", true, "not needed by %s", mechanism_to_string(used));
    else
        check_add(items, "tracefs", false, "the tracepoint sys_enter_mmap is not there%s; %s",
                  used == MECHANISM_RAW_TRACEPOINT
                      ? ": raw-tracepoint, which needs no tracefs, costs more"
                      : "",
                  r == -EACCES ? "only root can see tracepoints: run as root"
                               : "as root: mount -t tracefs tracefs /sys/kernel/tracing");
}

// Whatever it is, processes are found: what is not well is what it costs, or how late it is.
static void check_mechanism(const Source *source, CheckItems *items) {
    _cleanup_free_ char *text = watching_text(source);
    MechanismId used = source_mechanism(source);
    check_add(items, "mechanism", used < MECHANISM_PERF, "%s",
              text ? text : mechanism_to_string(used));
}

static void check_privileges(CheckItems *items) {
    char missing[512];
    int r = privileges_missing(PRIVILEGES_OF_PROGRAMS | PRIVILEGES_OF_PROCESSES, missing,
                               sizeof missing);
    if (r < 0)
        check_add(items, "privileges", false, "capget: %s", strerrorname_np(-r));
    else if (missing[0] == '\0')
        check_add(items, "privileges", true, "all capabilities that are needed");
    else
        check_add(items, "privileges", false,
                  "missing %s; run as root, in a unit or container that leaves root these",
                  missing);
}

static void check_proc(CheckItems *items) {
    _cleanup_close_ int directory = -1;
    int r = procfs_open(1, &directory);
    check_add(items, "procfs", r == 0,
              r == 0 ? "processes of other users are visible"
                     : "/proc/1 is hidden (mounted with hidepid=?): other users' processes "
                       "cannot be reached");
}

static void check_resources(CheckItems *items) {
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    bool ok = limit.rlim_max > BOUND_DESCRIPTORS_RESERVED + BOUND_PROBES + 1024;
    check_add(items, "descriptors", ok,
              ok ? "RLIMIT_NOFILE %ju"
                 : "RLIMIT_NOFILE %ju: fewer processes can be followed; "
                   "raise the hard limit",
              (uintmax_t)limit.rlim_max);

    // Nothing is wrong without it.
    check_add(items, "group", true, "%s",
              getgrnam(DISCOVERY_GROUP)
                  ? "members of " DISCOVERY_GROUP " see every user's processes"
                  : "no group " DISCOVERY_GROUP ", so only root sees every user's processes; to "
                    "let others: groupadd --system " DISCOVERY_GROUP);
}

void check_machine(const Source *source, CheckItems *items) {
    check_kernel(items);
    check_tracefs(source, items);
    check_privileges(items);
    check_proc(items);
    check_mechanism(source, items);
    const Program *programs = source_programs(source);
    for (size_t i = 0; i < PROGRAM_COUNT_; i++)
        check_add(items, programs[i].name, programs[i].attached, "%s%s%s", programs[i].kind,
                  programs[i].detail ? ": " : "", programs[i].detail ? programs[i].detail : "");
    check_resources(items);
}

static void add_process(pid_t pid, const char *command, const StatusText *status, char run_state,
                        CheckItems *items) {
    char own_pid[64] = "";
    if (status->namespace_pid > 0 && status->namespace_pid != pid)
        snprintf(own_pid, sizeof own_pid, ", pid %d in its own pid namespace",
                 status->namespace_pid);
    if (run_state == 'T')
        check_add(items, "process", false,
                  "%s, run state T%s: stopped, it answers when it goes on (kill -CONT %d)", command,
                  own_pid, pid);
    else if (run_state == 't')
        check_add(items, "process", false,
                  "%s, run state t%s: stopped by a debugger, it answers when that lets it go on "
                  "(TracerPid in /proc/%d/status)",
                  command, own_pid, pid);
    else
        check_add(items, "process", true, "%s, run state %c%s", command, run_state, own_pid);
}

// Read here are only comm and status: the rest of /proc/PID a process can make block.
int check_process_begin(pid_t pid, CheckItems *items, uid_t *ret_uid) {
    _cleanup_close_ int directory = -1;
    char text[BOUND_PROC_FILE];
    size_t size;
    StatusText status;
    StatusLife life;
    if (procfs_open(pid, &directory) < 0 ||
        procfs_read(directory, "status", text, sizeof text, &size) < 0 ||
        procfs_text_status(text, &status) < 0 || procfs_text_status_life(text, &life) < 0)
        return -ESRCH;

    _cleanup_free_ char *escaped = NULL;
    if (procfs_read(directory, "comm", text, sizeof text, &size) >= 0)
        escaped = text_escape(text, size > 0 ? size - 1 : 0);
    const char *command = escaped ? escaped : "?";
    *ret_uid = status.uid;
    if (status.tgid != pid)
        check_add(items, "process", false, "%s is a thread of process %d: check that", command,
                  status.tgid);
    else if (life.run_state == 'Z')
        check_add(items, "process", false, "%s: its main thread has ended (a zombie)", command);
    else if (!life.has_memory)
        check_add(items, "process", false, "%s is a kernel thread, or it is ending", command);
    else {
        add_process(pid, command, &status, life.run_state, items);
        return CHECK_GOES_ON;
    }
    return CHECK_ENDED;
}

static void add_mapping(int protection, bool answered, CheckItems *items) {
    if (protection == PROTECTION_UNKNOWN && answered) {
        check_add(items, "mapping", true,
                  "none was seen, as of runtimes before 10.0.5; found by its socket");
    } else if (protection != PROTECTION_UNKNOWN) {
        char shown[5];
        procfs_text_protection(protection, shown);
        check_add(items, "mapping", true, "%s " DISCOVERY_MAPPING_NAME, shown);
    } else {
        check_add(items, "mapping", false,
                  "none named " DISCOVERY_MAPPING_NAME " was seen: no runtime from 10.0.5 on has "
                  "its port open, or maps cannot be read");
    }
}

// Why it listens nowhere, as far as its mappings and a name in /tmp show. What was set for it only
// its environment tells, which is left to those who may read it.
static void add_no_socket(pid_t pid, const char *what, const Facts *facts, CheckItems *items) {
    _cleanup_free_ char *taken = NULL;
    if (facts->taken_path)
        taken = text_escape(facts->taken_path, strlen(facts->taken_path));
    if (taken)
        check_add(items, "socket", false,
                  "%s; the name of its default socket is taken: %s. Remove that file, if nobody "
                  "listens there, and start the process again",
                  what, taken);
    else if (facts->protection != PROTECTION_UNKNOWN)
        check_add(items, "socket", false,
                  "%s; the mapping came with a fork from its parent, or its port was closed", what);
    else if (facts->runtime)
        check_add(items, "socket", false,
                  "%s; it runs .NET (%s), so its port is off or could not be opened: look in "
                  "/proc/%d/environ for EnableDiagnostics, and for a TMPDIR that is missing, not "
                  "writable or longer than 93 bytes",
                  what, facts->runtime, pid);
    else
        check_add(items, "socket", false,
                  "%s; it maps nothing of a runtime: it is not .NET, its maps cannot be read, or "
                  "it is NativeAOT and its port is off (EventSourceSupport, EnableDiagnostics) or "
                  "had no place (TMPDIR)",
                  what);
}

static void add_answer(const Facts *facts, CheckItems *items) {
    if (!facts || !facts->runtime_version) {
        check_add(items, "answer", true, "answered; its runtime tells no version");
        return;
    }
    _cleanup_free_ char *version =
        text_escape(facts->runtime_version, strlen(facts->runtime_version));
    check_add(items, "answer", true, "runtime %s", version ? version : "?");
}

typedef enum Stage {
    AT_PATH,
    AT_CONNECTION,
    AT_OWNER,
    AT_ANSWER,
    AT_END,
} Stage;

// Where an attempt with a socket to ask ended, and what to do; the stages before went well.
static const struct {
    Stage stage;
    const char *remedy;
} ends[OUTCOME_COUNT_] = {
    [OUTCOME_ANSWERED] = {AT_END, ""},
    [OUTCOME_NO_SOCKET] = {AT_PATH, "; a runtime makes its socket once: start the process again"},
    [OUTCOME_PERMISSION_DENIED] = {AT_PATH, "; a check without a pid tells what the daemon lacks"},
    [OUTCOME_REFUSED] = {AT_CONNECTION, "; no runtime that runs does that: what is there is "
                                        "another's, or was left behind"},
    [OUTCOME_HUNG_UP] = {AT_CONNECTION, "; no diagnostic port does that"},
    [OUTCOME_NOT_OWNER] = {AT_OWNER, "; if the two share a folder, give each a TMPDIR of its own"},
    [OUTCOME_TIMEOUT] = {AT_ANSWER, "; a runtime answers one client at a time: ss -xp tells who is "
                                    "connected"},
    [OUTCOME_PROTOCOL_ERROR] = {AT_ANSWER, "; what listens there is no diagnostic port"},
};

static void add_stages(pid_t pid, Outcome outcome, const char *what, const Facts *facts,
                       CheckItems *items) {
    static const char *const names[] = {"path", "connection", "owner", "answer"};
    Stage stage = ends[outcome].stage;
    _cleanup_free_ char *path = text_escape(facts->socket_path, strlen(facts->socket_path));
    check_add(items, "socket", true, "%s", path ? path : "?");
    if (stage > AT_PATH)
        check_add(items, "path", true, "/proc/%d/root%s", pid, path ? path : "?");
    if (stage > AT_OWNER)
        check_add(items, "owner", true, "the process itself listens there");
    if (stage == AT_END)
        add_answer(facts, items);
    else
        check_add(items, names[stage], false, "%s%s", what, ends[outcome].remedy);
}

// `looked`: its mappings were searched for a runtime.
static void add_outcome(pid_t pid, Outcome outcome, const char *detail, const Facts *facts,
                        bool looked, CheckItems *items) {
    const char *what = detail ? detail : "no detail";
    if (outcome == OUTCOME_VANISHED)
        check_add(items, "process", false, "it ended meanwhile");
    else if (outcome == OUTCOME_NOT_TRIED)
        check_add(items, "connection", false, "the daemon could not try: %s", what);
    else if (facts && facts->socket_path)
        add_stages(pid, outcome, what, facts, items);
    else if (outcome == OUTCOME_NO_SOCKET && looked)
        add_no_socket(pid, what, facts, items);
    else
        check_add(items, "socket", false, "%s", what);
}

void check_process_probed(pid_t pid, Outcome outcome, const char *detail, const Facts *facts,
                          CheckItems *items) {
    if (facts)
        add_mapping(facts->protection, outcome == OUTCOME_ANSWERED, items);
    add_outcome(pid, outcome, detail, facts, facts, items);
}

void check_process_known(const Process *process, CheckItems *items) {
    static const Outcome outcomes[] = {
        [REASON_NONE] = OUTCOME_ANSWERED,
        [REASON_NO_SOCKET] = OUTCOME_NO_SOCKET,
        [REASON_REFUSED] = OUTCOME_REFUSED,
        [REASON_PERMISSION_DENIED] = OUTCOME_PERMISSION_DENIED,
        [REASON_TIMEOUT] = OUTCOME_TIMEOUT,
        [REASON_NOT_OWNER] = OUTCOME_NOT_OWNER,
        [REASON_PROTOCOL_ERROR] = OUTCOME_PROTOCOL_ERROR,
    };
    _Static_assert(ELEMENTS_OF(outcomes) == REASON_COUNT_, "a reason has no outcome");

    check_add(items, "signal", true, "%s", signal_kind_to_string(process->signal));
    // Before the first attempt has ended nobody has looked for it.
    if (process->protection != PROTECTION_UNKNOWN || process->traits.facts)
        add_mapping(process->protection, process->traits.state == STATE_READY, items);
    if (process->traits.state == STATE_DETECTED)
        check_add(items, "answer", false, "not yet; attempts go on");
    else
        add_outcome(process->key.pid, outcomes[process->reason], process->detail,
                    process->traits.facts, false, items);
}

int check_print(const CheckItems *items) {
    _cleanup_json_ json_t *result = check_items_json(items);
    if (!result || json_dumpf(result, stdout, JSON_COMPACT) < 0)
        return -ENOMEM;
    return putchar('\n') == EOF || fflush(stdout) == EOF ? -EIO : 0;
}
