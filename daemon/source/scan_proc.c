// What the iterator does in one pass takes two here: which diagnostic sockets there are stands in
// net/unix of every network namespace, who holds them in the fd folders, and a process may hold a
// socket of another namespace than its own. Any entry may be unreadable or vanish; that entry is
// passed over.
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
#include "procfs.h"
#include "procfs_text.h"
#include "scan.h"
#include "unix_table.h"

static void closedirp(DIR **directory) {
    if (*directory)
        closedir(*directory);
}

void scan_proc_init(ScanProc *scan, Context *context) {
    *scan = (ScanProc){.context = context};
}

void scan_proc_done(ScanProc *scan) {
    closedirp(&scan->processes);
    free(scan->namespaces);
    listeners_done(&scan->listeners);
    scan_proc_init(scan, scan->context);
}

int scan_proc_start(ScanProc *scan) {
    DIR *processes = opendir("/proc");
    if (!processes)
        return -errno;
    scan->processes = processes;
    return 0;
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

static int read_table(ScanProc *scan, int directory, __attribute__((unused)) pid_t pid) {
    struct stat st;
    if (fstatat(directory, "ns/net", &st, 0) < 0)
        return -errno;
    int r = enter_namespace(scan, st.st_ino);
    if (r <= 0)
        return r;
    r = procfs_each_line(directory, "net/unix", BOUND_PROC_LINES, on_table_line, &scan->listeners);
    if (r == -ESRCH || r == -ENOENT) {
        // It ended between the two: another process of the namespace has the table too.
        scan->namespace_count--;
        return 0;
    }
    if (r == -ENOBUFS || r == -EFBIG) {
        scan->context->counters.scan_failures++;
        log_debug("A scan of /proc left out sockets: there are too many.");
        return 0;
    }
    return r;
}

static int hold(Listener *listener, int directory, pid_t pid) {
    ProcessKey key = {.pid = pid, .exec_count = EXEC_COUNT_UNKNOWN};
    int r = proc_entry_start_ticks(directory, &key.start_ticks);
    if (r < 0)
        return r;
    char text[BOUND_PROC_FILE];
    size_t size;
    StatusText status = {0};
    r = procfs_read(directory, "status", text, sizeof text, &size);
    if (r < 0 || procfs_text_status(text, &status) < 0)
        status.namespace_pid = 0;
    listener_hold(listener, &key, status.namespace_pid);
    return 0;
}

static int read_descriptors(ScanProc *scan, int directory, pid_t pid) {
    _cleanup_close_ int fd = openat(directory, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    _cleanup_(closedirp) DIR *descriptors = fdopendir(fd);
    if (!descriptors)
        return -errno;
    fd = -1;
    const struct dirent *entry;
    for (size_t n = 0; n < BOUND_PROC_DESCRIPTORS && (entry = readdir(descriptors)); n++) {
        char link[64];
        uint64_t inode;
        // What is too long for this is a path, not a socket.
        if (procfs_read_link(dirfd(descriptors), entry->d_name, link, sizeof link) < 0 ||
            !procfs_text_socket_link(link, &inode))
            continue;
        Listener *listener = listeners_find(&scan->listeners, inode);
        int r = listener ? hold(listener, directory, pid) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

// Looks at the next process of /proc: SCAN_MORE, SCAN_END after the last.
static int next_process(ScanProc *scan, int (*look)(ScanProc *, int directory, pid_t pid)) {
    errno = 0;
    const struct dirent *entry = readdir(scan->processes);
    if (!entry)
        return errno != 0 ? SCAN_FAILED : SCAN_END;
    const char *name = entry->d_name;
    uint64_t pid;
    if (!scan_decimal(&name, &pid) || *name != '\0')
        return SCAN_MORE;

    _cleanup_close_ int directory = -1;
    int r = procfs_open((pid_t)pid, &directory);
    if (r >= 0)
        r = look(scan, directory, (pid_t)pid);
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM ? SCAN_FAILED : SCAN_MORE;
}

// False where the process has ended or cannot be looked at.
static bool describe(const Listener *listener, Signal *ret) {
    _cleanup_close_ int directory = -1;
    if (proc_entry_open(&listener->holder, &directory) != PROC_ENTRY_OK)
        return false;
    char text[BOUND_PROC_FILE];
    size_t size;
    StatusText status;
    if (procfs_read(directory, "status", text, sizeof text, &size) < 0 ||
        procfs_text_status(text, &status) < 0)
        return false;
    *ret = (Signal){
        .kind = SIGNAL_SCAN,
        .key = listener->holder,
        .namespace_pid = status.namespace_pid,
        .uid = status.uid,
        .gid = status.gid,
        .protection = PROTECTION_UNKNOWN,
        .seen = instant_now(),
    };
    memcpy(ret->socket_path, listener->path, sizeof ret->socket_path);
    if (procfs_read(directory, "comm", text, sizeof text, &size) >= 0 && size > 0)
        memcpy(ret->command, text, size - 1 < COMMAND_SIZE ? size - 1 : COMMAND_SIZE - 1);
    return true;
}

static int next_signal(ScanProc *scan) {
    if (scan->next == scan->listeners.count)
        return SCAN_END;
    const Listener *listener = &scan->listeners.items[scan->next++];
    Input input = {.kind = INPUT_SIGNAL};
    if (listener->holder.pid == 0 || !describe(listener, &input.signal))
        return SCAN_MORE;
    context_yield(scan->context, &input);
    return SCAN_MORE;
}

static int step(ScanProc *scan) {
    int r = SCAN_END;
    switch (scan->phase) {
    case SCAN_PROC_TABLES:
        r = next_process(scan, read_table);
        if (r != SCAN_END)
            return r;
        listeners_seal(&scan->listeners);
        rewinddir(scan->processes);
        scan->phase = SCAN_PROC_HOLDERS;
        return SCAN_MORE;
    case SCAN_PROC_HOLDERS:
        r = next_process(scan, read_descriptors);
        if (r != SCAN_END)
            return r;
        scan->phase = SCAN_PROC_SIGNALS;
        return SCAN_MORE;
    case SCAN_PROC_SIGNALS:
        return next_signal(scan);
    }
    return r;
}

int scan_proc_step(ScanProc *scan) {
    int r = step(scan);
    if (r != SCAN_MORE)
        scan_proc_done(scan);
    return r;
}
