// Journal entries and lines are made from the same fields, which a visit of the process gives.
// SPDX-License-Identifier: MIT
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "announce.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

#include "bounds.h"
#include "cleanup.h"
#include "discovery_names.h"
#include "log.h"
#include "macro.h"
#include "view.h"

typedef enum FieldId {
    FIELD_PID,
    FIELD_STATE,
    FIELD_REASON,
    FIELD_DETAIL,
    FIELD_COMMAND,
    FIELD_UNIT,
    FIELD_VERSION,
    FIELD_ASSEMBLY,
    FIELD_MECHANISM, // this one and the next are the daemon's own
    FIELD_COST,
    FIELD_COUNT_,
} FieldId;

static const struct {
    const char *view;
    const char *journal;
} field_names[] = {
    [FIELD_PID] = {"pid", "DOTNET_PID"},
    [FIELD_STATE] = {"state", "DOTNET_STATE"},
    [FIELD_REASON] = {"reason", "DOTNET_REASON"},
    [FIELD_DETAIL] = {"detail", "DOTNET_DETAIL"},
    [FIELD_COMMAND] = {"command", "DOTNET_COMMAND"},
    [FIELD_UNIT] = {"unit", "DOTNET_UNIT"},
    [FIELD_VERSION] = {"runtimeVersion", "DOTNET_RUNTIME_VERSION"},
    [FIELD_ASSEMBLY] = {"entryAssembly", "DOTNET_ENTRY_ASSEMBLY"},
    [FIELD_MECHANISM] = {"mechanism", "DISCOVERY_MECHANISM"},
    [FIELD_COST] = {"cost", "DISCOVERY_COST"},
};
_Static_assert(ELEMENTS_OF(field_names) == FIELD_COUNT_, "a field has no name");

typedef struct Fields {
    char *values[FIELD_COUNT_]; // owned, NULL where absent
} Fields;

static void fields_done(Fields *fields) {
    for (size_t i = 0; i < FIELD_COUNT_; i++)
        free(fields->values[i]);
}

// Cut at a character's first byte.
static size_t shown_length(const char *text) {
    size_t length = strnlen(text, BOUND_JOURNAL_TEXT);
    if (text[length] != '\0')
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    return length;
}

static int take_text(void *userdata, const char *name, const char *value) {
    Fields *fields = userdata;
    for (size_t i = 0; i < FIELD_COUNT_; i++) {
        if (strcmp(field_names[i].view, name) != 0)
            continue;
        fields->values[i] = strndup(value, shown_length(value));
        return fields->values[i] ? 0 : -ENOMEM;
    }
    return 0;
}

static int take_number(void *userdata, const char *name, uint64_t value,
                       ViewWidth width __attribute__((unused))) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return take_text(userdata, name, text);
}

static int skip_texts(void *userdata __attribute__((unused)),
                      const char *name __attribute__((unused)),
                      char *const *values __attribute__((unused)),
                      size_t count __attribute__((unused))) {
    return 0;
}

static int skip_boolean(void *userdata __attribute__((unused)),
                        const char *name __attribute__((unused)),
                        bool value __attribute__((unused))) {
    return 0;
}

static struct iovec vector(const char *text) {
    return (struct iovec){.iov_base = (char *)(uintptr_t)text, .iov_len = strlen(text)};
}

// "NAME=value" strings to the journal, or the message to standard error.
static void write_entry(int priority, const char *message, const char *message_id,
                        const Fields *fields) {
    if (priority > log_level())
        return;
    if (!log_to_journal()) {
        log_message(priority, "%s", message);
        return;
    }

    _cleanup_free_ char *message_field = NULL;
    if (asprintf(&message_field, "MESSAGE=%s", message) < 0) {
        message_field = NULL;
        return;
    }
    char id_field[64], priority_field[16];
    snprintf(id_field, sizeof id_field, "MESSAGE_ID=%s", message_id);
    snprintf(priority_field, sizeof priority_field, "PRIORITY=%d", priority);

    struct iovec entry[FIELD_COUNT_ + 4];
    int count = 0;
    entry[count++] = vector(message_field);
    entry[count++] = vector(id_field);
    entry[count++] = vector(priority_field);
    entry[count++] = vector("SYSLOG_IDENTIFIER=" DISCOVERY_DAEMON);
    _cleanup_(fields_done) Fields texts = {0};
    for (size_t i = 0; fields && i < FIELD_COUNT_; i++) {
        if (!fields->values[i])
            continue;
        if (asprintf(&texts.values[i], "%s=%s", field_names[i].journal, fields->values[i]) < 0) {
            texts.values[i] = NULL;
            continue;
        }
        entry[count++] = vector(texts.values[i]);
    }
    if (sd_journal_sendv(entry, count) < 0)
        log_message(priority, "%s", message);
}

// What a person calls the process.
static const char *name_of(const Fields *fields) {
    if (fields->values[FIELD_ASSEMBLY])
        return fields->values[FIELD_ASSEMBLY];
    return fields->values[FIELD_COMMAND] ? fields->values[FIELD_COMMAND] : "unknown";
}

static int priority_of(State state, bool was_told) {
    switch (state) {
    case STATE_READY:
        return LOG_INFO;
    case STATE_UNREACHABLE:
        return LOG_NOTICE;
    case STATE_GONE:
        return was_told ? LOG_INFO : LOG_DEBUG;
    case STATE_DETECTED:
    case STATE_COUNT_:
        break;
    }
    return LOG_DEBUG;
}

static void announce_suppressed(uint64_t count, uid_t uid) {
    if (count == 0)
        return;
    char message[160];
    snprintf(message, sizeof message,
             "%" PRIu64 " entries about processes of uid %u, or others with it, were left out: too "
             "many at once.",
             count, uid);
    write_entry(LOG_NOTICE, message, DISCOVERY_MESSAGE_LEFT_OUT, NULL);
}

static void announce_state(State state, int priority, pid_t pid, const Fields *fields) {
    const char *name = name_of(fields);
    const char *version = fields->values[FIELD_VERSION];
    const char *reason = fields->values[FIELD_REASON];
    const char *detail = fields->values[FIELD_DETAIL];
    char message[3 * BOUND_JOURNAL_TEXT];
    switch (state) {
    case STATE_READY:
        snprintf(message, sizeof message, "Process %d (%s) can be diagnosed, runtime %s.", pid,
                 name, version ? version : "of unknown version");
        write_entry(priority, message, DISCOVERY_MESSAGE_READY, fields);
        break;
    case STATE_UNREACHABLE:
        snprintf(message, sizeof message, "Process %d (%s) cannot be diagnosed: %s%s%s.", pid, name,
                 reason ? reason : "unknown", detail ? ", " : "", detail ? detail : "");
        write_entry(priority, message, DISCOVERY_MESSAGE_UNREACHABLE, fields);
        break;
    case STATE_GONE:
        snprintf(message, sizeof message, "Process %d (%s) is gone.", pid, name);
        write_entry(priority, message, DISCOVERY_MESSAGE_GONE, fields);
        break;
    case STATE_DETECTED:
        log_debug("Process %d (%s) may be diagnosable soon.", pid, name);
        break;
    case STATE_COUNT_:
        break;
    }
}

void announce_change(const Action *change, Throttle *throttle, uint64_t now_us) {
    static const ViewSink sink = {
        .text = take_text,
        .texts = skip_texts,
        .number = take_number,
        .boolean = skip_boolean,
    };
    const Process *process = change->process;
    State state = process->traits.state;
    if (change->has_before && change->before.state == state)
        return;
    bool was_told = change->has_before && change->before.state != STATE_DETECTED;
    int priority = priority_of(state, was_told);
    uid_t uid = process->traits.uid;
    uint64_t suppressed;
    if (priority > log_level() || !throttle_pass(throttle, uid, now_us, &suppressed))
        return;
    announce_suppressed(suppressed, uid);
    _cleanup_(fields_done) Fields fields = {0};
    if (view_process(process, SD_ID128_NULL, &sink, &fields) < 0)
        return;
    announce_state(state, priority, process->key.pid, &fields);
}

bool announce_lost(uint64_t count, Throttle *throttle, uint64_t now_us) {
    if (!throttle_pass_daemon(throttle, now_us))
        return false;
    char message[128];
    snprintf(message, sizeof message,
             "%" PRIu64 " records of the kernel side were lost; scanning again.", count);
    write_entry(LOG_WARNING, message, DISCOVERY_MESSAGE_LOST, NULL);
    return true;
}

bool announce_degraded(const char *what, Throttle *throttle, uint64_t now_us) {
    if (!throttle_pass_daemon(throttle, now_us))
        return false;
    write_entry(LOG_WARNING, what, DISCOVERY_MESSAGE_DEGRADED, NULL);
    return true;
}

void announce_mechanism(int priority, const char *name, const char *cost, const char *text) {
    _cleanup_(fields_done) Fields fields = {0};
    _cleanup_free_ char *message = NULL;
    if (asprintf(&message, "Watching by %s.", text) < 0) {
        message = NULL;
        return;
    }
    if (take_text(&fields, "mechanism", name) >= 0 && take_text(&fields, "cost", cost) >= 0)
        write_entry(priority, message, DISCOVERY_MESSAGE_MECHANISM, &fields);
}

void announce_ready(void) {
    sd_notify(0, "READY=1");
}

void announce_status(const char *mechanism, bool degraded) {
    sd_notifyf(0, "STATUS=Watching by %s%s.", mechanism,
               degraded ? ", degraded: see " DISCOVERY_CLIENT " status" : "");
}

void announce_stopping(void) {
    sd_notify(0, "STOPPING=1");
}
