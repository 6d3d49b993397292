// The D-Bus forms of what the one view and the one report say.
// SPDX-License-Identifier: MIT
#include "bus_view.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "discovery_names.h"
#include "view.h"

// A Varlink name as a key, or a key as a Varlink name: none of ours is longer.
typedef struct Key {
    char text[32];
} Key;

static Key key_of(const char *name) {
    Key key;
    snprintf(key.text, sizeof key.text, "%s", name);
    key.text[0] = (char)toupper((unsigned char)key.text[0]);
    return key;
}

static int append_text(sd_bus_message *message, const char *name, const char *value) {
    return sd_bus_message_append(message, "{sv}", key_of(name).text, "s", value);
}

static int append_u64(sd_bus_message *message, const char *name, uint64_t value) {
    return sd_bus_message_append(message, "{sv}", key_of(name).text, "t", value);
}

// An entry of a{sv} whose value is of this type, up to the value.
static int open_entry(sd_bus_message *message, const char *name, const char *type) {
    int r = sd_bus_message_open_container(message, SD_BUS_TYPE_DICT_ENTRY, "sv");
    if (r >= 0)
        r = sd_bus_message_append(message, "s", key_of(name).text);
    if (r >= 0)
        r = sd_bus_message_open_container(message, SD_BUS_TYPE_VARIANT, type);
    return r;
}

static int close_entry(sd_bus_message *message) {
    int r = sd_bus_message_close_container(message);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_strings(sd_bus_message *message, const char *const *values, size_t count) {
    int r = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "s");
    for (size_t i = 0; r >= 0 && i < count; i++)
        r = sd_bus_message_append(message, "s", values[i]);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

// ---- a process

// Key, type, lengths and padding of a field come to about this.
enum { FIELD_SIZE = 40 };

// A code point of the UTF-8 at *text, which is moved behind it; UINT32_MAX where there is none.
static uint32_t next_code_point(const uint8_t **text) {
    static const uint32_t lowest[] = {0, 0x80, 0x800, 0x10000}; // anything below is overlong
    uint8_t lead = *(*text)++;
    if (lead < 0x80)
        return lead;
    unsigned following = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4)
        return UINT32_MAX;
    uint32_t value = lead & (0x3fU >> following);
    for (unsigned i = 0; i < following; i++, (*text)++) {
        if ((**text & 0xc0) != 0x80)
            return UINT32_MAX;
        value = value << 6 | (**text & 0x3f);
    }
    return value < lowest[following] ? UINT32_MAX : value;
}

bool bus_view_is_sendable(const char *text) {
    for (const uint8_t *next = (const uint8_t *)text; *next != '\0';) {
        uint32_t c = next_code_point(&next);
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        bool noncharacter = (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe;
        if (c > 0x10ffff || surrogate || noncharacter)
            return false;
    }
    return true;
}

typedef struct Sink {
    sd_bus_message *message; // borrowed
    size_t size;
} Sink;

static int put_text(void *userdata, const char *name, const char *value) {
    Sink *sink = userdata;
    if (!bus_view_is_sendable(value))
        return 0;
    sink->size += FIELD_SIZE + strlen(value);
    return append_text(sink->message, name, value);
}

static int put_texts(void *userdata, const char *name, char *const *values, size_t count) {
    Sink *sink = userdata;
    for (size_t i = 0; i < count; i++)
        if (!bus_view_is_sendable(values[i]))
            return 0;
    sink->size += FIELD_SIZE;
    for (size_t i = 0; i < count; i++)
        sink->size += strlen(values[i]) + 8;
    int r = open_entry(sink->message, name, "as");
    if (r >= 0)
        r = append_strings(sink->message, (const char *const *)values, count);
    return r < 0 ? r : close_entry(sink->message);
}

static int put_number(void *userdata, const char *name, uint64_t value, ViewWidth width) {
    Sink *sink = userdata;
    sink->size += FIELD_SIZE;
    if (width == VIEW_U64)
        return append_u64(sink->message, name, value);
    return sd_bus_message_append(sink->message, "{sv}", key_of(name).text, "u", (uint32_t)value);
}

static int put_boolean(void *userdata, const char *name, bool value) {
    Sink *sink = userdata;
    sink->size += FIELD_SIZE;
    return sd_bus_message_append(sink->message, "{sv}", key_of(name).text, "b", (int)value);
}

int bus_view_process(sd_bus_message *message, const Process *process, sd_id128_t boot_id,
                     size_t *size) {
    static const ViewSink functions = {
        .text = put_text,
        .texts = put_texts,
        .number = put_number,
        .boolean = put_boolean,
    };
    Sink sink = {.message = message};
    int r = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
    if (r >= 0)
        r = view_process(process, boot_id, &functions, &sink);
    if (r >= 0)
        r = sd_bus_message_close_container(message);
    if (r < 0)
        return r;
    *size += sink.size;
    return 0;
}

// ---- the daemon

static int append_degraded_value(sd_bus_message *message, const Status *status) {
    return append_strings(message, status->degraded, status->degraded_count);
}

static int append_degraded(sd_bus_message *message, const Status *status) {
    int r = open_entry(message, "degraded", "as");
    if (r >= 0)
        r = append_degraded_value(message, status);
    return r < 0 ? r : close_entry(message);
}

static int open_array_entry(sd_bus_message *message, const char *name, const char *type) {
    int r = open_entry(message, name, type);
    return r < 0 ? r : sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, type + 1);
}

static int close_array_entry(sd_bus_message *message) {
    int r = sd_bus_message_close_container(message);
    return r < 0 ? r : close_entry(message);
}

static int append_mechanism(sd_bus_message *message, const StatusMechanism *mechanism) {
    int r = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
    if (r >= 0)
        r = append_text(message, "name", mechanism->name);
    if (r >= 0)
        r = sd_bus_message_append(message, "{sv}", "Used", "b", (int)mechanism->used);
    if (r >= 0)
        r = append_text(message, "cost", mechanism->cost);
    if (r >= 0 && mechanism->detail)
        r = append_text(message, "detail", mechanism->detail);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_mechanisms(sd_bus_message *message, const Status *status) {
    int r = open_array_entry(message, "mechanisms", "aa{sv}");
    for (size_t i = 0; r >= 0 && i < status->mechanism_count; i++)
        r = append_mechanism(message, &status->mechanisms[i]);
    return r < 0 ? r : close_array_entry(message);
}

static int append_program(sd_bus_message *message, const StatusProgram *program) {
    int r = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
    if (r >= 0)
        r = append_text(message, "name", program->name);
    if (r >= 0)
        r = append_text(message, "kind", program->kind);
    if (r >= 0)
        r = sd_bus_message_append(message, "{sv}", "Attached", "b", (int)program->attached);
    if (r >= 0 && program->detail)
        r = append_text(message, "detail", program->detail);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_programs(sd_bus_message *message, const Status *status) {
    int r = open_array_entry(message, "programs", "aa{sv}");
    for (size_t i = 0; r >= 0 && i < status->program_count; i++)
        r = append_program(message, &status->programs[i]);
    return r < 0 ? r : close_array_entry(message);
}

static int append_counters(sd_bus_message *message, const Status *status) {
    int r = open_array_entry(message, "counters", "a{st}");
    for (size_t i = 0; r >= 0 && i < status->counter_count; i++)
        r = sd_bus_message_append(message, "{st}", status->counters[i].name,
                                  status->counters[i].value);
    return r < 0 ? r : close_array_entry(message);
}

static int append_processes(sd_bus_message *message, const uint64_t counts[STATE_COUNT_]) {
    int r = open_array_entry(message, "processes", "a{st}");
    for (State state = 0; r >= 0 && state < STATE_COUNT_; state++)
        // A process that is gone is forgotten.
        if (state != STATE_GONE)
            r = sd_bus_message_append(message, "{st}", state_to_string(state), counts[state]);
    return r < 0 ? r : close_array_entry(message);
}

int bus_view_status(sd_bus_message *message, const StatusReport *report) {
    const Status *status = &report->status;
    int r = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
    if (r >= 0)
        r = append_text(message, "version", DISCOVERY_VERSION);
    if (r >= 0)
        r = append_text(message, "runId", report->run_id);
    if (r >= 0)
        r = append_text(message, "mechanism", status_mechanism(status));
    if (r >= 0)
        r = append_mechanisms(message, status);
    if (r >= 0 && status->scan_interval_us > 0)
        r = append_u64(message, "scanIntervalUSec", status->scan_interval_us);
    if (r >= 0 && status->degraded_count > 0)
        r = append_degraded(message, status);
    if (r >= 0)
        r = append_programs(message, status);
    if (r >= 0)
        r = append_counters(message, status);
    if (r >= 0)
        r = append_processes(message, report->processes);
    if (r >= 0)
        r = append_u64(message, "startedRealtimeUSec", report->started_realtime_us);
    if (r >= 0)
        r = append_text(message, "kernelRelease", report->kernel_release);
    if (r >= 0)
        r = append_u64(message, "sequence", report->sequence);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

int bus_view_properties(sd_bus_message *message, const StatusReport *report) {
    int r = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
    if (r >= 0)
        r = append_text(message, "version", DISCOVERY_VERSION);
    if (r >= 0)
        r = append_text(message, "runId", report->run_id);
    if (r >= 0)
        r = append_text(message, "mechanism", status_mechanism(&report->status));
    if (r >= 0)
        r = sd_bus_message_append(message, "{sv}", "ReadyCount", "u",
                                  (uint32_t)report->processes[STATE_READY]);
    if (r >= 0)
        r = append_degraded(message, &report->status);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

int bus_view_property(sd_bus_message *message, const char *name, const StatusReport *report) {
    if (strcmp(name, "Version") == 0)
        return sd_bus_message_append(message, "v", "s", DISCOVERY_VERSION);
    if (strcmp(name, "RunId") == 0)
        return sd_bus_message_append(message, "v", "s", report->run_id);
    if (strcmp(name, "Mechanism") == 0)
        return sd_bus_message_append(message, "v", "s", status_mechanism(&report->status));
    if (strcmp(name, "ReadyCount") == 0)
        return sd_bus_message_append(message, "v", "u", (uint32_t)report->processes[STATE_READY]);
    int r = sd_bus_message_open_container(message, SD_BUS_TYPE_VARIANT, "as");
    if (r >= 0)
        r = append_degraded_value(message, &report->status);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

int bus_view_changed(sd_bus_message *message, const Status *status) {
    int r = sd_bus_message_append(message, "s", DISCOVERY_BUS_INTERFACE);
    if (r >= 0)
        r = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
    if (r >= 0)
        r = append_text(message, "mechanism", status_mechanism(status));
    if (r >= 0)
        r = append_degraded(message, status);
    if (r >= 0)
        r = sd_bus_message_close_container(message);
    return r < 0 ? r : sd_bus_message_append(message, "as", 0);
}

// ---- a filter

// More entries than a filter has members are refused, so that what is kept of a call is small.
enum { FILTER_MEMBERS = 8 };

// The value of an entry; -EINVAL where it is of no type that a filter has.
static int read_value(sd_bus_message *message, FilterValue *ret) {
    const char *type;
    int r = sd_bus_message_peek_type(message, NULL, &type);
    if (r < 0)
        return r;
    if (strcmp(type, "s") == 0)
        return sd_bus_message_read(message, "v", "s", &ret->text);
    if (strcmp(type, "u") != 0)
        return -EINVAL;
    uint32_t number;
    r = sd_bus_message_read(message, "v", "u", &number);
    if (r >= 0)
        ret->number = number;
    return r;
}

static int read_entry(sd_bus_message *message, Filter *filter, const char **ret_name) {
    const char *key;
    int r = sd_bus_message_read(message, "s", &key);
    if (r < 0)
        return r;
    FilterValue value = {0};
    r = read_value(message, &value);
    if (r >= 0) {
        // No Varlink name begins with a capital, and no key with a small letter.
        Key name = {0};
        snprintf(name.text, sizeof name.text, "%s", key);
        name.text[0] =
            (char)(isupper((unsigned char)key[0]) ? tolower((unsigned char)key[0]) : '?');
        r = filter_set(filter, name.text, &value);
    }
    if (r == -EINVAL)
        *ret_name = key;
    return r;
}

int bus_view_filter(sd_bus_message *message, Filter *ret, const char **ret_name) {
    _cleanup_(filter_done) Filter filter = {0};
    *ret_name = NULL;
    int r = sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
    for (size_t count = 0; r >= 0; count++) {
        r = sd_bus_message_enter_container(message, SD_BUS_TYPE_DICT_ENTRY, "sv");
        if (r <= 0)
            break;
        r = count < FILTER_MEMBERS ? read_entry(message, &filter, ret_name) : -EINVAL;
        if (r >= 0)
            r = sd_bus_message_exit_container(message);
    }
    if (r >= 0)
        r = sd_bus_message_exit_container(message);
    if (r < 0)
        return r;
    *ret = filter;
    filter = (Filter){0};
    return 0;
}
