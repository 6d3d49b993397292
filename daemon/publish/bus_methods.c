// Every call is looked up in the one table here, and nothing of sd-bus's own handling is left to
// callers: it looks up each prefix of a path, however long, and has in its errors what a caller
// sent, however large. Arguments are read when a call comes; its answer is made when it is known
// who calls. include/org.dotnetdiscovery1.Manager.xml is what the table must come to.
// SPDX-License-Identifier: MIT
#include "bus_methods.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "bus_introspect.h"
#include "bus_view.h"
#include "cleanup.h"
#include "discovery_names.h"
#include "macro.h"

#define PROPERTIES "org.freedesktop.DBus.Properties"
#define INTROSPECTABLE "org.freedesktop.DBus.Introspectable"
#define PEER "org.freedesktop.DBus.Peer"

static const char *const paths[] = {DISCOVERY_BUS_PATH, "/org", "/"};
static const char *const interfaces[] = {DISCOVERY_BUS_INTERFACE, PROPERTIES, INTROSPECTABLE, PEER};
static const char *const properties[] = {"Version", "RunId", "Mechanism", "Degraded", "ReadyCount"};

// The same text as it is here; NULL where there is none.
static const char *find(const char *const *names, size_t count, const char *name) {
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    return NULL;
}

// ---- answers

enum { STATUS_SIZE = 4096 }; // of a status, about

static int answer_process(sd_bus_message *reply, const BusRequest *request, const Context *context,
                          const Viewer *viewer) {
    const Process *process = registry_find_pid(context->registry, request->pid);
    if (!process || !viewer_sees(viewer, &process->traits))
        return -ESRCH;
    size_t size = 0;
    int r = bus_view_process(reply, process, context->boot_id, &size);
    return r < 0 ? r : (int)size;
}

static int answer_status(sd_bus_message *reply, const BusRequest *request __attribute__((unused)),
                         const Context *context, const Viewer *viewer) {
    StatusReport report;
    status_report(context, viewer, &report);
    int r = bus_view_status(reply, &report);
    return r < 0 ? r : STATUS_SIZE;
}

static int answer_property(sd_bus_message *reply, const BusRequest *request, const Context *context,
                           const Viewer *viewer) {
    StatusReport report;
    status_report(context, viewer, &report);
    int r = bus_view_property(reply, request->property, &report);
    return r < 0 ? r : STATUS_SIZE;
}

static int answer_properties(sd_bus_message *reply,
                             const BusRequest *request __attribute__((unused)),
                             const Context *context, const Viewer *viewer) {
    StatusReport report;
    status_report(context, viewer, &report);
    int r = bus_view_properties(reply, &report);
    return r < 0 ? r : STATUS_SIZE;
}

static int answer_no_properties(sd_bus_message *reply,
                                const BusRequest *request __attribute__((unused)),
                                const Context *context __attribute__((unused)),
                                const Viewer *viewer __attribute__((unused))) {
    return sd_bus_message_append(reply, "a{sv}", 0);
}

static int answer_introspect(sd_bus_message *reply, const BusRequest *request,
                             const Context *context __attribute__((unused)),
                             const Viewer *viewer __attribute__((unused))) {
    _cleanup_free_ char *text = NULL;
    int r = bus_introspect(request->path, &text);
    if (r >= 0)
        r = sd_bus_message_append(reply, "s", text);
    return r < 0 ? r : (int)strlen(text);
}

static int answer_ping(sd_bus_message *reply __attribute__((unused)),
                       const BusRequest *request __attribute__((unused)),
                       const Context *context __attribute__((unused)),
                       const Viewer *viewer __attribute__((unused))) {
    return 0;
}

static int answer_machine_id(sd_bus_message *reply,
                             const BusRequest *request __attribute__((unused)),
                             const Context *context __attribute__((unused)),
                             const Viewer *viewer __attribute__((unused))) {
    sd_id128_t id;
    char text[SD_ID128_STRING_MAX];
    int r = sd_id128_get_machine(&id);
    return r < 0 ? r : sd_bus_message_append(reply, "s", sd_id128_to_string(id, text));
}

// ---- arguments

static int refuse(BusRequest *request, const char *error, const char *text) {
    request->error = error;
    snprintf(request->text, sizeof request->text, "%s", text);
    return 0;
}

static int read_list(sd_bus_message *message, BusRequest *request) {
    const char *key;
    int r = bus_view_filter(message, &request->filter, &key);
    if (r != -EINVAL)
        return r;
    if (!key)
        return refuse(request, SD_BUS_ERROR_INVALID_ARGS,
                      "Filter: more entries than there are keys.");
    request->error = SD_BUS_ERROR_INVALID_ARGS;
    // A long one is not sent back.
    snprintf(request->text, sizeof request->text,
             "Filter: %s is not known, of another type, or can match nothing.",
             strlen(key) <= 32 ? key : "a key");
    return 0;
}

static int read_get(sd_bus_message *message, BusRequest *request) {
    uint32_t pid;
    int r = sd_bus_message_read(message, "u", &pid);
    if (r < 0)
        return r;
    if (pid == 0 || pid > INT_MAX)
        return refuse(request, SD_BUS_ERROR_INVALID_ARGS, "pid can be no process's.");
    request->pid = (pid_t)pid;
    request->answer = answer_process;
    return 0;
}

static int read_status(sd_bus_message *message __attribute__((unused)), BusRequest *request) {
    request->answer = answer_status;
    return 0;
}

static int read_property(sd_bus_message *message, BusRequest *request) {
    const char *interface, *property;
    int r = sd_bus_message_read(message, "ss", &interface, &property);
    if (r < 0)
        return r;
    bool any = interface[0] == '\0'; // of which ours alone has properties
    if (!any && !find(interfaces, ELEMENTS_OF(interfaces), interface))
        return refuse(request, SD_BUS_ERROR_UNKNOWN_INTERFACE, "There is no such interface.");
    request->property = find(properties, ELEMENTS_OF(properties), property);
    if (!request->property || (!any && strcmp(interface, DISCOVERY_BUS_INTERFACE) != 0))
        return refuse(request, SD_BUS_ERROR_UNKNOWN_PROPERTY, "There is no such property.");
    request->answer = answer_property;
    return 0;
}

static int read_set(sd_bus_message *message, BusRequest *request) {
    int r = read_property(message, request);
    if (r < 0 || !request->answer)
        return r;
    request->answer = NULL;
    return refuse(request, SD_BUS_ERROR_PROPERTY_READ_ONLY, "No property can be set.");
}

// An empty name means all interfaces, of which ours alone has properties.
static int read_properties(sd_bus_message *message, BusRequest *request) {
    const char *interface;
    int r = sd_bus_message_read(message, "s", &interface);
    if (r < 0)
        return r;
    if (interface[0] == '\0' || strcmp(interface, DISCOVERY_BUS_INTERFACE) == 0)
        request->answer = answer_properties;
    else if (find(interfaces, ELEMENTS_OF(interfaces), interface))
        request->answer = answer_no_properties;
    else
        refuse(request, SD_BUS_ERROR_UNKNOWN_INTERFACE, "There is no such interface.");
    return 0;
}

static int read_introspect(sd_bus_message *message __attribute__((unused)), BusRequest *request) {
    request->answer = answer_introspect;
    return 0;
}

static int read_ping(sd_bus_message *message __attribute__((unused)), BusRequest *request) {
    request->answer = answer_ping;
    return 0;
}

static int read_machine_id(sd_bus_message *message __attribute__((unused)), BusRequest *request) {
    request->answer = answer_machine_id;
    return 0;
}

// ---- the table

typedef struct Method {
    const char *interface, *member, *signature;
    int (*read)(sd_bus_message *message, BusRequest *request);
    bool everywhere; // on the objects above ours, too
} Method;

static const Method methods[] = {
    {DISCOVERY_BUS_INTERFACE, "ListProcesses", "a{sv}", read_list, false},
    {DISCOVERY_BUS_INTERFACE, "GetProcess", "u", read_get, false},
    {DISCOVERY_BUS_INTERFACE, "GetStatus", "", read_status, false},
    {PROPERTIES, "Get", "ss", read_property, false},
    {PROPERTIES, "GetAll", "s", read_properties, false},
    {PROPERTIES, "Set", "ssv", read_set, false},
    {INTROSPECTABLE, "Introspect", "", read_introspect, true},
    {PEER, "Ping", "", read_ping, true},
    {PEER, "GetMachineId", "", read_machine_id, true},
};

// A call need not say which interface it means where only one has the method: no two have.
static const Method *find_method(sd_bus_message *message, const char *interface) {
    const char *member = sd_bus_message_get_member(message);
    for (const Method *method = methods; method < methods + ELEMENTS_OF(methods); method++)
        if (member && (!interface || strcmp(method->interface, interface) == 0) &&
            strcmp(method->member, member) == 0)
            return method;
    return NULL;
}

int bus_methods_read(sd_bus_message *message, BusRequest *ret) {
    ret->path = find(paths, ELEMENTS_OF(paths), sd_bus_message_get_path(message));
    if (!ret->path)
        return refuse(ret, SD_BUS_ERROR_UNKNOWN_OBJECT, "There is no such object.");
    const char *interface = sd_bus_message_get_interface(message);
    if (interface && !find(interfaces, ELEMENTS_OF(interfaces), interface))
        return refuse(ret, SD_BUS_ERROR_UNKNOWN_INTERFACE, "There is no such interface.");
    const Method *method = find_method(message, interface);
    if (!method)
        return refuse(ret, SD_BUS_ERROR_UNKNOWN_METHOD, "There is no such method.");
    if (!method->everywhere && strcmp(ret->path, DISCOVERY_BUS_PATH) != 0)
        return refuse(ret, SD_BUS_ERROR_UNKNOWN_OBJECT, "There is no such object.");
    if (strcmp(sd_bus_message_get_signature(message, true), method->signature) != 0)
        return refuse(ret, SD_BUS_ERROR_INVALID_ARGS, "The arguments are of other types.");
    int r = method->read(message, ret);
    if (r >= 0 || r == -ENOMEM)
        return r;
    return refuse(ret, SD_BUS_ERROR_INVALID_ARGS, "The arguments cannot be read.");
}
