// The visit of a process's fields, in the order of the interface description. Each group of fields
// is a function, the first failure ends the visit, and nothing a process wrote gets past escaped().
// SPDX-License-Identifier: MIT
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "procfs_text.h"
#include "text.h"

typedef struct Visit {
    const ViewSink *sink;
    void *userdata;
    int result; // negative once a field failed: the rest is skipped
} Visit;

char *view_text(const char *bytes) {
    return text_escape(bytes, strlen(bytes));
}

// Text of the daemon, or escaped by whoever made it; NULL is an absent field.
static void plain(Visit *visit, const char *name, const char *value) {
    if (visit->result >= 0 && value)
        visit->result = visit->sink->text(visit->userdata, name, value);
}

// Text of the process; NULL is an absent field.
static void escaped(Visit *visit, const char *name, const char *bytes) {
    if (visit->result < 0 || !bytes)
        return;
    _cleanup_free_ char *text = view_text(bytes);
    if (text)
        plain(visit, name, text);
    else
        visit->result = -ENOMEM;
}

static void number(Visit *visit, const char *name, uint64_t value, ViewWidth width) {
    if (visit->result >= 0)
        visit->result = visit->sink->number(visit->userdata, name, value, width);
}

static void boolean(Visit *visit, const char *name, bool value) {
    if (visit->result >= 0)
        visit->result = visit->sink->boolean(visit->userdata, name, value);
}

typedef struct Texts {
    char **items; // owned, and so is each
    size_t count;
} Texts;

static void texts_done(Texts *texts) {
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
}

// Splits a command line at its NULs; the last argument may lack its own.
static int texts_escape(Texts *texts, const char *bytes, size_t size) {
    size_t count = bytes[size - 1] != '\0';
    for (size_t i = 0; i < size; i++)
        count += bytes[i] == '\0';
    texts->items = calloc(count, sizeof *texts->items);
    if (!texts->items)
        return -ENOMEM;

    for (size_t start = 0; start < size;) {
        size_t length = strnlen(bytes + start, size - start);
        char *text = text_escape(bytes + start, length);
        if (!text)
            return -ENOMEM;
        texts->items[texts->count++] = text;
        start += length + 1;
    }
    return 0;
}

static void visit_arguments(Visit *visit, const Facts *facts) {
    if (visit->result < 0 || !facts->arguments || facts->arguments_size == 0)
        return;
    _cleanup_(texts_done) Texts texts = {0};
    visit->result = texts_escape(&texts, facts->arguments, facts->arguments_size);
    if (visit->result < 0)
        return;
    visit->result = visit->sink->texts(visit->userdata, "arguments", texts.items, texts.count);
    if (facts->arguments_truncated)
        boolean(visit, "argumentsTruncated", true);
}

// As .NET prints a Guid: the first three groups are little endian integers.
static void visit_cookie(Visit *visit, const Facts *facts) {
    if (!facts->has_cookie)
        return;
    const uint8_t *c = facts->cookie;
    char text[37];
    snprintf(text, sizeof text,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", c[3], c[2],
             c[1], c[0], c[5], c[4], c[7], c[6], c[8], c[9], c[10], c[11], c[12], c[13], c[14],
             c[15]);
    plain(visit, "runtimeCookie", text);
}

static void visit_socket(Visit *visit, pid_t pid, const char *path) {
    if (visit->result < 0 || !path)
        return;
    _cleanup_free_ char *text = view_text(path);
    if (!text) {
        visit->result = -ENOMEM;
        return;
    }
    plain(visit, "socketPath", text);

    // What a relative path was relative to when it was bound is not known.
    if (text[0] != '/')
        return;
    _cleanup_free_ char *host = NULL;
    if (asprintf(&host, "/proc/%d/root%s", pid, text) < 0) {
        host = NULL;
        visit->result = -ENOMEM;
        return;
    }
    plain(visit, "hostSocketPath", host);
}

static void visit_facts(Visit *visit, pid_t pid, const Facts *facts) {
    escaped(visit, "executable", facts->executable);
    visit_arguments(visit, facts);
    escaped(visit, "cgroup", facts->cgroup);
    escaped(visit, "unit", facts->unit);
    escaped(visit, "userUnit", facts->user_unit);
    escaped(visit, "containerId", facts->container_id);
    visit_cookie(visit, facts);
    escaped(visit, "runtimeVersion", facts->runtime_version);
    escaped(visit, "entryAssembly", facts->entry_assembly);
    escaped(visit, "operatingSystem", facts->operating_system);
    escaped(visit, "architecture", facts->architecture);
    escaped(visit, "portableRid", facts->portable_rid);
    visit_socket(visit, pid, facts->socket_path);
}

static void visit_identity(Visit *visit, const Process *process, sd_id128_t boot_id) {
    char id[VIEW_ID_SIZE];
    view_id(process, boot_id, id);
    plain(visit, "id", id);
    number(visit, "pid", (uint64_t)process->key.pid, VIEW_U32);
    if (process->namespace_pid > 0)
        number(visit, "namespacePid", (uint64_t)process->namespace_pid, VIEW_U32);
    number(visit, "startTime", process->key.start_ticks, VIEW_U64);
    plain(visit, "state", state_to_string(process->traits.state));
    plain(visit, "reason", reason_to_string(process->reason));
    plain(visit, "detail", process->detail);
    if (process->traits.uid != UID_UNKNOWN)
        number(visit, "uid", process->traits.uid, VIEW_U32);
    if (process->gid != GID_UNKNOWN)
        number(visit, "gid", process->gid, VIEW_U32);
    if (process->traits.command[0] != '\0')
        escaped(visit, "command", process->traits.command);
}

static void visit_signal(Visit *visit, const Process *process) {
    plain(visit, "signal", signal_kind_to_string(process->signal));
    if (process->protection != PROTECTION_UNKNOWN) {
        char text[5];
        procfs_text_protection(process->protection, text);
        plain(visit, "mappingProtection", text);
    }
    number(visit, "detectedRealtimeUSec", process->detected.realtime_us, VIEW_U64);
    number(visit, "detectedBoottimeUSec", process->detected.boottime_us, VIEW_U64);
    if (process->ready.boottime_us > 0) {
        number(visit, "readyRealtimeUSec", process->ready.realtime_us, VIEW_U64);
        number(visit, "readyBoottimeUSec", process->ready.boottime_us, VIEW_U64);
    }
    number(visit, "sequence", process->sequence, VIEW_U64);
}

int view_process(const Process *process, sd_id128_t boot_id, const ViewSink *sink, void *userdata) {
    Visit visit = {.sink = sink, .userdata = userdata};
    visit_identity(&visit, process, boot_id);
    if (process->traits.facts)
        visit_facts(&visit, process->key.pid, process->traits.facts);
    visit_signal(&visit, process);
    return visit.result < 0 ? visit.result : 0;
}

void view_id(const Process *process, sd_id128_t boot_id, char ret[static VIEW_ID_SIZE]) {
    char exec_count[24] = "x"; // unknown
    if (process->id_exec_count != EXEC_COUNT_UNKNOWN)
        snprintf(exec_count, sizeof exec_count, "%" PRIu64, process->id_exec_count);
    else if (process->id_again)
        snprintf(exec_count, sizeof exec_count, "x%" PRIu64, process->id_again);
    snprintf(ret, VIEW_ID_SIZE, SD_ID128_FORMAT_STR "-%d-%" PRIu64 "-%s",
             SD_ID128_FORMAT_VAL(boot_id), process->key.pid, process->key.start_ticks, exec_count);
}
