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
#include "varlink.h"

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

    // Since 4.1 tracefs is a file system of its own; some hosts mount only debugfs with it inside.
    ok = access("/sys/kernel/tracing/events/syscalls/sys_enter_mmap/id", R_OK) == 0 ||
         access("/sys/kernel/debug/tracing/events/syscalls/sys_enter_mmap/id", R_OK) == 0;
    check_add(items, "tracefs", ok, "%s",
              ok                ? "the tracepoint sys_enter_mmap is there"
              : errno == EACCES ? "only root can see tracepoints; run as root"
                                : "the tracepoint sys_enter_mmap is not there; as root: mount -t "
                                  "tracefs tracefs /sys/kernel/tracing");
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
    check_privileges(items);
    check_proc(items);
    const Program *programs = source_programs(source);
    for (size_t i = 0; i < PROGRAM_COUNT_; i++)
        check_add(items, programs[i].name, programs[i].attached, "%s%s%s", programs[i].kind,
                  programs[i].detail ? ": " : "", programs[i].detail ? programs[i].detail : "");
    check_resources(items);
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

    _cleanup_free_ char *command = NULL;
    if (procfs_read(directory, "comm", text, sizeof text, &size) >= 0)
        command = text_escape(text, size > 0 ? size - 1 : 0);
    check_add(items, "process", life.run_state != 'Z', "%s, run state %c", command ? command : "?",
              life.run_state);
    *ret_uid = status.uid;
    return 0;
}

static void add_mapping(int protection, bool answered, CheckItems *items) {
    if (protection == PROTECTION_UNKNOWN && answered) {
        check_add(items, "mapping", true, "none: a runtime before 10.0.5, found by its socket");
    } else if (protection != PROTECTION_UNKNOWN) {
        char shown[5];
        procfs_text_protection(protection, shown);
        check_add(items, "mapping", true, "%s " DISCOVERY_MAPPING_NAME, shown);
    } else {
        check_add(items, "mapping", false,
                  "no mapping named " DISCOVERY_MAPPING_NAME
                  " was seen: not .NET, a runtime before 10.0.5, its diagnostics are off, or its "
                  "maps cannot be read");
    }
}

static void add_socket(const Facts *facts, const char *missing, CheckItems *items) {
    if (!facts || !facts->socket_path) {
        check_add(items, "socket", false, "%s", missing ? missing : "no listening socket found");
        return;
    }
    _cleanup_free_ char *path = text_escape(facts->socket_path, strlen(facts->socket_path));
    check_add(items, "socket", true, "%s", path ? path : "?");
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

// The step at which an attempt ended; the steps before it went well.
static void add_steps(Outcome outcome, const char *detail, const Facts *facts, CheckItems *items) {
    const char *what = detail ? detail : "no detail";
    switch (outcome) {
    case OUTCOME_ANSWERED:
        add_socket(facts, NULL, items);
        check_add(items, "owner", true, "the process itself listens there");
        add_answer(facts, items);
        break;
    case OUTCOME_NO_SOCKET:
        add_socket(NULL, what, items);
        break;
    case OUTCOME_NOT_OWNER:
        add_socket(facts, NULL, items);
        check_add(items, "owner", false, "%s", what);
        break;
    case OUTCOME_TIMEOUT:
    case OUTCOME_PROTOCOL_ERROR:
        if (!facts || !facts->socket_path) {
            add_socket(NULL, what, items);
            break;
        }
        add_socket(facts, NULL, items);
        check_add(items, "owner", true, "the process itself listens there");
        check_add(items, "answer", false, "%s", what);
        break;
    case OUTCOME_REFUSED:
    case OUTCOME_HUNG_UP:
    case OUTCOME_PERMISSION_DENIED:
        if (!facts || !facts->socket_path) {
            add_socket(NULL, what, items);
            break;
        }
        add_socket(facts, NULL, items);
        check_add(items, "connection", false, "%s", what);
        break;
    case OUTCOME_VANISHED:
        check_add(items, "process", false, "it ended meanwhile");
        break;
    case OUTCOME_NOT_TRIED:
    case OUTCOME_COUNT_:
        check_add(items, "connection", false, "the daemon could not try: %s", what);
        break;
    }
}

void check_process_probed(Outcome outcome, const char *detail, const Facts *facts,
                          CheckItems *items) {
    if (facts)
        add_mapping(facts->protection, outcome == OUTCOME_ANSWERED, items);
    add_steps(outcome, detail, facts, items);
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

    // Before the first attempt has ended nobody has looked for it.
    if (process->protection != PROTECTION_UNKNOWN || process->traits.facts)
        add_mapping(process->protection, process->traits.state == STATE_READY, items);
    check_add(items, "signal", true, "%s", signal_kind_to_string(process->signal));
    if (process->traits.state == STATE_DETECTED)
        check_add(items, "answer", false, "not yet; attempts go on");
    else
        add_steps(outcomes[process->reason], process->detail, process->traits.facts, items);
}

int check_print(const CheckItems *items) {
    _cleanup_json_ json_t *result = check_items_json(items);
    if (!result || json_dumpf(result, stdout, JSON_COMPACT) < 0)
        return -ENOMEM;
    return putchar('\n') == EOF || fflush(stdout) == EOF ? -EIO : 0;
}
