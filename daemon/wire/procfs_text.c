// Parsers for what lies below /proc/PID. sscanf() is not used: it takes blanks and signs where the
// kernel writes none, and numbers that are too large overflow in silence. A text that was cut must
// not yield a number that was cut, so a number counts only with what the kernel writes behind it.
// SPDX-License-Identifier: MIT
#include "procfs_text.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "discovery_names.h"
#include "macro.h"
#include "scan.h"

// From field 3 of stat on. Field 2 is the command in parentheses, raw: it may hold parentheses,
// blanks and newlines. What follows it holds none, hence the last one ends it.
static const char *stat_fields(const char *stat) {
    uint64_t pid;
    if (!scan_decimal(&stat, &pid) || !scan_literal(&stat, " ("))
        return NULL;
    const char *end = strrchr(stat, ')');
    return end && end[1] == ' ' ? end + 2 : NULL;
}

static bool run_state(const char **fields, char *ret) {
    char letter = **fields;
    if (!((letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z')) ||
        (*fields)[1] != ' ')
        return false;
    *fields += 2;
    *ret = letter;
    return true;
}

int procfs_text_run_state(const char *stat, char *ret) {
    const char *fields = stat_fields(stat);
    return fields && run_state(&fields, ret) ? 0 : -EBADMSG;
}

int procfs_text_start_ticks(const char *stat, uint64_t *ret) {
    enum { FIRST = 4, START_TIME = 22 };
    const char *fields = stat_fields(stat);
    char letter;
    if (!fields || !run_state(&fields, &letter))
        return -EBADMSG;

    uint64_t value = 0;
    for (int field = FIRST; field <= START_TIME; field++) {
        if (field < START_TIME)
            scan_literal(&fields, "-");
        if (!scan_decimal(&fields, &value) || !scan_literal(&fields, " "))
            return -EBADMSG;
    }
    *ret = value;
    return 0;
}

// The rest of the first line that begins so, or NULL. The kernel escapes a newline in "Name:", the
// one line that a process can write.
static const char *status_line(const char *status, const char *name) {
    size_t size = strlen(name);
    while (strncmp(status, name, size) != 0) {
        status = strchr(status, '\n');
        if (!status)
            return NULL;
        status++;
    }
    return status + size;
}

// Number `index` of a line of them, the last one for -1.
static bool status_number(const char *status, const char *name, int index, uint64_t maximum,
                          uint64_t *ret) {
    const char *p = status_line(status, name);
    if (!p)
        return false;

    uint64_t value = 0;
    bool found = false;
    for (int i = 0; *p != '\n'; i++) {
        uint64_t number;
        if (!scan_literal(&p, "\t") || !scan_decimal(&p, &number) || number > maximum)
            return false;
        if (index < 0 || i == index) {
            value = number;
            found = true;
        }
    }
    if (found)
        *ret = value;
    return found;
}

int procfs_text_status(const char *status, StatusText *ret) {
    enum { EFFECTIVE = 1 };
    uint64_t tgid, gid, namespace_pid;
    StatusText text;
    if (!status_number(status, "Tgid:", 0, INT_MAX, &tgid) ||
        !status_number(status, "Gid:", EFFECTIVE, UINT32_MAX - 1, &gid))
        return -EBADMSG;
    for (int i = 0; i < STATUS_UIDS; i++) {
        uint64_t uid;
        if (!status_number(status, "Uid:", i, UINT32_MAX - 1, &uid))
            return -EBADMSG;
        text.uids[i] = (uid_t)uid;
    }
    if (tgid == 0)
        return -ESRCH;

    // "Groups:" before NSpid may be longer than what was read of the file. A line behind NSpid
    // tells a kernel that has no such line from a text that ends too early.
    if (!status_number(status, "NSpid:", -1, INT_MAX, &namespace_pid))
        namespace_pid =
            !status_line(status, "NSpid:") && status_line(status, "Threads:") ? tgid : 0;

    text.uid = text.uids[EFFECTIVE];
    text.gid = (gid_t)gid;
    text.tgid = (pid_t)tgid;
    text.namespace_pid = (pid_t)namespace_pid;
    *ret = text;
    return 0;
}

int procfs_text_status_life(const char *status, StatusLife *ret) {
    const char *p = status_line(status, "State:");
    if (!p || !scan_literal(&p, "\t") || !run_state(&p, &ret->run_state))
        return -EBADMSG;
    ret->has_memory = status_line(status, "VmPeak:");
    return 0;
}

// "rwxp", a letter or '-' each, 's' for a shared mapping.
static bool scan_protection(const char **text, int *ret) {
    static const struct {
        char letter;
        int bit;
    } columns[] = {{'r', PROT_READ}, {'w', PROT_WRITE}, {'x', PROT_EXEC}};
    const char *p = *text;
    int protection = 0;

    for (size_t i = 0; i < ELEMENTS_OF(columns); i++, p++) {
        if (*p == columns[i].letter)
            protection |= columns[i].bit;
        else if (*p != '-')
            return false;
    }
    if (*p != 'p' && *p != 's')
        return false;
    *text = p + 1;
    *ret = protection;
    return true;
}

// 7f0e8cc82000-7f0e8cc83000 ---p 00000000 00:01 1801        /memfd:dotnet_ipc_created (deleted)
//
// Shared or private, and whatever the protection: the name is what counts. The kernel writes a
// newline in a name as \012, so that a line is a mapping, and a name that says "(deleted)" itself
// gets a second one. A file in the root directory can have the same path. On a disk its device
// tells it apart, since a memfd has major number 0; on a tmpfs, an overlay or the like nothing
// does, and the line is a hint like every other.
bool procfs_text_is_mapping(const char *maps_line, int *ret_protection) {
    const char *p = maps_line;
    uint64_t start, end, offset, major, minor, inode;
    int protection;

    if (!scan_hex(&p, &start) || !scan_literal(&p, "-") || !scan_hex(&p, &end) ||
        !scan_literal(&p, " ") || !scan_protection(&p, &protection) || !scan_literal(&p, " ") ||
        !scan_hex(&p, &offset) || !scan_literal(&p, " ") || !scan_hex(&p, &major) ||
        !scan_literal(&p, ":") || !scan_hex(&p, &minor) || !scan_literal(&p, " ") ||
        !scan_decimal(&p, &inode))
        return false;
    if (major != 0 || inode == 0)
        return false;
    scan_blanks(&p);
    if (strcmp(p, "/memfd:" DISCOVERY_MAPPING_NAME " (deleted)") != 0)
        return false;

    *ret_protection = protection;
    return true;
}

// Which of the names, with nothing behind it but the kernel's mark; NULL: none.
static const char *runtime_named(const char *name) {
    static const char *const names[] = {"libcoreclr.so", "memfd:doublemapper"};
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        const char *p = name;
        if (scan_literal(&p, names[i]) && (*p == '\0' || strcmp(p, " (deleted)") == 0))
            return names[i];
    }
    return NULL;
}

const char *procfs_text_runtime(const char *maps_line) {
    const char *slash = strrchr(maps_line, '/');
    return slash ? runtime_named(slash + 1) : NULL;
}

int procfs_text_boottime_offset(const char *offsets, int64_t *ret) {
    const uint64_t nanoseconds_per_second = 1000000000;
    const char *p = status_line(offsets, "boottime");
    uint64_t seconds, nanoseconds;
    int64_t value;
    if (!p)
        return -EBADMSG;

    scan_blanks(&p);
    bool negative = scan_literal(&p, "-");
    if (!scan_decimal(&p, &seconds) || seconds > INT64_MAX / nanoseconds_per_second)
        return -EBADMSG;
    scan_blanks(&p);
    // The nanoseconds count forward from the second, before zero too.
    if (!scan_decimal(&p, &nanoseconds) || nanoseconds >= nanoseconds_per_second ||
        !scan_literal(&p, "\n"))
        return -EBADMSG;
    value = (int64_t)(seconds * nanoseconds_per_second);
    if (__builtin_add_overflow(negative ? -value : value, (int64_t)nanoseconds, &value))
        return -EBADMSG;
    *ret = value;
    return 0;
}

bool procfs_text_socket_link(const char *link, uint64_t *ret_inode) {
    uint64_t inode;
    if (!scan_literal(&link, "socket:[") || !scan_decimal(&link, &inode) || strcmp(link, "]") != 0)
        return false;
    *ret_inode = inode;
    return true;
}

void procfs_text_protection(int protection, char ret[static 5]) {
    ret[0] = protection & PROT_READ ? 'r' : '-';
    ret[1] = protection & PROT_WRITE ? 'w' : '-';
    ret[2] = protection & PROT_EXEC ? 'x' : '-';
    ret[3] = 'p';
    ret[4] = '\0';
}
