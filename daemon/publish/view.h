// The one place where a process becomes fields: names, order, types, escaping. Whoever tells others
// of a process (Varlink, the bus, the journal) visits it through a sink of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <systemd/sd-id128.h>

#include "process.h"

// Integer widths that typed transports need; JSON has one.
typedef enum ViewWidth { VIEW_U32, VIEW_U64 } ViewWidth;

// Each gets a field's Varlink name and its value, text already escaped; absent fields are not
// visited. A negative errno ends the visit and is its result.
typedef struct ViewSink {
    int (*text)(void *userdata, const char *name, const char *value);
    int (*texts)(void *userdata, const char *name, char *const *values, size_t count);
    int (*number)(void *userdata, const char *name, uint64_t value, ViewWidth width);
    int (*boolean)(void *userdata, const char *name, bool value);
} ViewSink;

int view_process(const Process *process, sd_id128_t boot_id, const ViewSink *sink, void *userdata);

// Bytes of a process, NUL-terminated, as every interface shows them. The caller owns the result;
// NULL when out of memory.
char *view_text(const char *bytes);

// The life's id, "BOOTID-PID-START-EXEC"; opaque to clients.
#define VIEW_ID_SIZE 96
void view_id(const Process *process, sd_id128_t boot_id, char ret[static VIEW_ID_SIZE]);

// The Varlink object of a process; the caller owns *ret. -ENOMEM.
int view_process_json(const Process *process, sd_id128_t boot_id, json_t **ret);
