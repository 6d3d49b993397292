// What the iterator does in one pass takes more here: which diagnostic sockets there are stands in
// net/unix of every network namespace, who holds them in the fd folders, and a process may hold a
// socket of another namespace than its own. Any entry may be unreadable or vanish; that entry is
// passed over.
//
// To look through all fd folders is what costs most, and is seldom needed: a holder known from the
// scan before is believed while it lives, and a socket's name has the pid of the process that made
// it, as its own namespace has it. So only a socket that is new, and of a process in a container or
// with a name that was cut, has everybody looked at; where nobody holds it, once in several scans.
// However many sockets name a process or are held by it, a scan looks through its descriptors twice
// at most: as one that is named, and as one of all.
//
// It is only for a host whose kernel has no such iterator, and it reads in the loop what a process
// can make block (its stat, namespaces and descriptors, while it holds up an execve of its
// own): there any user who may mount a file system of his own can keep the daemon waiting.
// SPDX-License-Identifier: MIT
#include "scan_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "cleanup.h"
#include "log.h"
#include "proc_entry.h"
#include "procfs_text.h"
#include "scan.h"
#include "unix_table.h"

static DIR *close_folder(DIR *folder) {
    if (folder)
        closedir(folder);
    return NULL;
}

static void close_table(ScanProc *scan) {
    if (scan->table)
        procfs_lines_close(scan->table);
    free(scan->table);
    scan->table = NULL;
}

static void close_process(ScanProc *scan) {
    scan->descriptors = close_folder(scan->descriptors);
    scan->process = safe_close(scan->process);
}

void scan_proc_init(ScanProc *scan, Context *context) {
    *scan = (ScanProc){.context = context, .process = -1};
}

// The listeners stay for the next scan where this one came to its end.
static void end(ScanProc *scan, bool complete) {
    scan->processes = close_folder(scan->processes);
    close_table(scan);
    close_process(scan);
    free(scan->namespaces);
    Listeners *kept = complete ? &scan->listeners : &scan->before;
    listeners_done(complete ? &scan->before : &scan->listeners);
    *scan = (ScanProc){.context = scan->context, .process = -1, .before = *kept};
}

void scan_proc_done(ScanProc *scan) {
    end(scan, false);
    listeners_done(&scan->before);
}

int scan_proc_start(ScanProc *scan) {
    DIR *processes = opendir("/proc");
    if (!processes)
        return -errno;
    scan->processes = processes;
    return 0;
}

// For want of these everything else would fail as well.
static bool is_want(int r) {
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM;
}

// The pid of the next process of /proc: SCAN_MORE, SCAN_END after the last.
static int next_pid(ScanProc *scan, pid_t *ret) {
    const struct dirent *entry;
    for (;;) {
        errno = 0;
        entry = readdir(scan->processes);
        if (!entry)
            return errno != 0 ? SCAN_FAILED : SCAN_END;
        const char *name = entry->d_name;
        uint64_t pid;
        if (!scan_decimal(&name, &pid) || *name != '\0')
            continue;
        *ret = (pid_t)pid;
        return SCAN_MORE;
    }
}

// 1 where the namespace is met for the first time.
static int enter_namespace(ScanProc *scan, uint64_t inode) {
    for (size_t i = 0; i < scan->namespace_count; i++)
        if (scan->namespaces[i] == inode)
            return 0;
    if (scan->namespace_count == scan->namespace_capacity) {
        size_t capacity = scan->namespace_capacity ? 2 * scan->namespace_capacity : 16;
        uint64_t *namespaces = reallocarray(scan->namespaces, capacity, sizeof *namespaces);
        if (!namespaces)
            return -ENOMEM;
        scan->namespaces = namespaces;
        scan->namespace_capacity = capacity;
    }
    scan->namespaces[scan->namespace_count++] = inode;
    return 1;
}

static int on_table_line(void *userdata, const char *line, __attribute__((unused)) size_t size) {
    UnixListener listener;
    if (!unix_table_listener(line, &listener) || !unix_table_is_diagnostic(listener.path))
        return 0;
    return listeners_add(userdata, listener.inode, listener.path);
}

static int open_table(ScanProc *scan, pid_t pid) {
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "%d/ns/net", pid);
    if (fstatat(dirfd(scan->processes), path, &st, 0) < 0)
        return -errno;
    int r = enter_namespace(scan, st.st_ino);
    if (r <= 0)
        return r;
    scan->table = malloc(sizeof *scan->table);
    if (!scan->table)
        return -ENOMEM;
    snprintf(path, sizeof path, "%d/net/unix", pid);
    r = procfs_lines_open(scan->table, dirfd(scan->processes), path);
    if (r >= 0)
        return r;
    free(scan->table);
    scan->table = NULL;
    // It ended between the two: another process of the namespace has the table too.
    scan->namespace_count--;
    return r;
}

static int read_table(ScanProc *scan) {
    int r = procfs_lines_step(scan->table, BOUND_PROC_LINES, on_table_line, &scan->listeners);
    if (r == 0 && !scan->table->at_end)
        return SCAN_MORE;
    close_table(scan);
    if (r == -ENOBUFS || r == -EFBIG) {
        scan->context->counters.scan_failures++;
        log_debug("A scan of /proc left out sockets: there are too many.");
    }
    return r == -ENOMEM ? SCAN_FAILED : SCAN_MORE;
}

static int next_table(ScanProc *scan) {
    if (scan->table)
        return read_table(scan);
    pid_t pid;
    int r = next_pid(scan, &pid);
    if (r != SCAN_MORE)
        return r;
    return is_want(open_table(scan, pid)) ? SCAN_FAILED : SCAN_MORE;
}

static int open_descriptors(ScanProc *scan, pid_t pid) {
    _cleanup_close_ int process = -1;
    int r = procfs_open(pid, &process);
    if (r < 0)
        return r;
    int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    scan->descriptors = fdopendir(fd);
    if (!scan->descriptors) {
        r = -errno;
        safe_close(fd);
        return r;
    }
    scan->process = TAKE_FD(process);
    scan->pid = pid;
    scan->facts = (Signal){0};
    scan->looked_at = 0;
    return 0;
}

// One that has ended is nobody's holder; of any other that fails nothing is known.
static int note(ScanProc *scan, int r) {
    scan->overlooked |= r < 0 && r != -ENOENT && r != -ESRCH;
    return r;
}

static int open_process(ScanProc *scan, pid_t pid) {
    return note(scan, open_descriptors(scan, pid));
}

static int read_facts(ScanProc *scan) {
    Signal facts = {.key = {.pid = scan->pid, .exec_count = EXEC_COUNT_UNKNOWN}};
    int r = proc_entry_start_ticks(scan->process, &facts.key.start_ticks);
    if (r < 0)
        return r;
    (void)proc_entry_describe(scan->process, &facts);
    scan->facts = facts;
    return 0;
}

static int hold(ScanProc *scan, Listener *listener) {
    int r = scan->facts.key.pid == 0 ? note(scan, read_facts(scan)) : 0;
    if (r >= 0)
        listener_hold(listener, &scan->facts.key, scan->facts.namespace_pid);
    return r;
}

// Some of the descriptors of the process that is open: SCAN_END after the last.
static int read_descriptors(ScanProc *scan) {
    for (size_t n = 0; n < BOUND_SCAN_DESCRIPTORS; n++) {
        const struct dirent *entry = readdir(scan->descriptors);
        if (!entry || ++scan->looked_at > BOUND_PROC_DESCRIPTORS) {
            close_process(scan);
            return SCAN_END;
        }
        char link[64];
        uint64_t inode;
        // What is too long for this is a path, not a socket.
        if (procfs_read_link(dirfd(scan->descriptors), entry->d_name, link, sizeof link) < 0 ||
            !procfs_text_socket_link(link, &inode))
            continue;
        Listener *listener = listeners_find(&scan->listeners, inode);
        int r = listener && !listener->told ? hold(scan, listener) : 0;
        if (r < 0) {
            close_process(scan);
            return is_want(r) ? SCAN_FAILED : SCAN_END;
        }
    }
    return SCAN_MORE;
}

// Who holds one without being named by it may not be its owner, until all have been looked at.
static bool is_due(const ScanProc *scan, const Listener *listener) {
    return !listener->told && listener->holder.pid != 0 &&
           (listener->named || scan->phase != SCAN_PROC_FOUND);
}

static bool describe(const ProcessKey *holder, Signal *ret) {
    _cleanup_close_ int directory = -1;
    *ret = (Signal){.kind = SIGNAL_SCAN,
                    .key = *holder,
                    .protection = PROTECTION_UNKNOWN,
                    .seen = instant_now()};
    return proc_entry_open(holder, &directory) == PROC_ENTRY_OK &&
           proc_entry_describe(directory, ret) >= 0;
}

// Some of what one process holds. Each with its path: one of them alone may be its own, and which
// that is only a probe finds out.
static int tell_next(ScanProc *scan) {
    const Listeners *listeners = &scan->listeners;
    while (scan->next < listeners->count && !is_due(scan, listeners->order[scan->next]))
        scan->next++;
    if (scan->next == listeners->count)
        return SCAN_END;
    const ProcessKey holder = listeners->order[scan->next]->holder;
    Input input = {.kind = INPUT_SIGNAL};
    bool lives = describe(&holder, &input.signal);
    for (size_t n = 0; n < BOUND_SCAN_SIGNALS && scan->next < listeners->count; n++) {
        Listener *listener = listeners->order[scan->next];
        if (listener->holder.pid != holder.pid ||
            listener->holder.start_ticks != holder.start_ticks)
            break;
        scan->next++;
        if (!is_due(scan, listener))
            continue;
        if (!lives) {
            listener_drop(listener);
            continue;
        }
        memcpy(input.signal.socket_path, listener->path, sizeof input.signal.socket_path);
        listener->told = true;
        context_yield(scan->context, &input);
    }
    return SCAN_MORE;
}

static int next_named(ScanProc *scan) {
    if (scan->descriptors)
        return read_descriptors(scan) == SCAN_FAILED ? SCAN_FAILED : SCAN_MORE;
    while (scan->next < scan->listeners.count) {
        const Listener *listener = scan->listeners.order[scan->next++];
        if (listener->told || listener->believed || listener->names == scan->named)
            continue;
        scan->named = listener->names;
        return is_want(open_process(scan, scan->named)) ? SCAN_FAILED : SCAN_MORE;
    }
    return SCAN_END;
}

static int next_holder(ScanProc *scan) {
    if (scan->descriptors)
        return read_descriptors(scan) == SCAN_FAILED ? SCAN_FAILED : SCAN_MORE;
    pid_t pid;
    int r = scan->incomplete ? next_pid(scan, &pid) : SCAN_END;
    if (r != SCAN_MORE)
        return r;
    return is_want(open_process(scan, pid)) ? SCAN_FAILED : SCAN_MORE;
}

static int begin_known(ScanProc *scan) {
    Listeners *listeners = &scan->listeners;
    if (listeners_seal(listeners) < 0)
        return SCAN_FAILED;
    for (size_t i = 0; i < listeners->count; i++)
        (void)listener_recall(&listeners->items[i], &scan->before);
    listeners_by_holder(listeners);
    return SCAN_MORE;
}

static void begin_holders(ScanProc *scan) {
    for (size_t i = 0; i < scan->listeners.count; i++) {
        const Listener *listener = &scan->listeners.items[i];
        scan->incomplete |= !listener->told && !listener->believed;
    }
    rewinddir(scan->processes);
}

static void begin_left(ScanProc *scan) {
    for (size_t i = 0; i < scan->listeners.count; i++) {
        Listener *listener = &scan->listeners.items[i];
        if (listener->holder.pid == 0 && scan->incomplete && !scan->overlooked)
            listener_give_up(listener);
    }
    listeners_by_holder(&scan->listeners);
}

static int begin_phase(ScanProc *scan, ScanProcPhase phase) {
    scan->phase = phase;
    scan->next = 0;
    switch (phase) {
    case SCAN_PROC_TABLES:
        break;
    case SCAN_PROC_KNOWN:
        return begin_known(scan);
    case SCAN_PROC_NAMED:
        listeners_by_name(&scan->listeners);
        break;
    case SCAN_PROC_FOUND:
        listeners_by_holder(&scan->listeners);
        break;
    case SCAN_PROC_HOLDERS:
        begin_holders(scan);
        break;
    case SCAN_PROC_LEFT:
        begin_left(scan);
        break;
    }
    return SCAN_MORE;
}

static int step(ScanProc *scan) {
    static int (*const nexts[])(ScanProc * scan) = {
        [SCAN_PROC_TABLES] = next_table,   [SCAN_PROC_KNOWN] = tell_next,
        [SCAN_PROC_NAMED] = next_named,    [SCAN_PROC_FOUND] = tell_next,
        [SCAN_PROC_HOLDERS] = next_holder, [SCAN_PROC_LEFT] = tell_next,
    };
    int r = nexts[scan->phase](scan);
    return r != SCAN_END || scan->phase == SCAN_PROC_LEFT ? r : begin_phase(scan, scan->phase + 1);
}

int scan_proc_step(ScanProc *scan) {
    int r = step(scan);
    if (r != SCAN_MORE)
        end(scan, r == SCAN_END);
    return r;
}
