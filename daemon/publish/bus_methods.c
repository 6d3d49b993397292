// A method's handler reads the arguments and hands the call on; its answer is made when it is known
// who calls. include/org.dotnetdiscovery1.Manager.xml is what the table must come to.
// SPDX-License-Identifier: MIT
#include "bus_methods.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "bus_view.h"
#include "cleanup.h"
#include "discovery_names.h"

#define PROPERTIES "org.freedesktop.DBus.Properties"

// ---- answers

// Sends the reply that `fill` completes.
typedef int (*Fill)(sd_bus_message *reply, const Context *context, const Viewer *viewer);
static int answer_with(sd_bus_message *call, const Context *context, const Viewer *viewer,
                       Fill fill) {
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    int r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = fill(reply, context, viewer);
    return r < 0 ? r : sd_bus_message_send(reply);
}

static int answer_process(sd_bus_message *call, const BusRequest *request, const Context *context,
                          const Viewer *viewer) {
    const Process *process = registry_find_pid(context->registry, request->pid);
    if (!process || !viewer_sees(viewer, &process->traits))
        return sd_bus_reply_method_errorf(call, DISCOVERY_BUS_NAME ".NoSuchProcess",
                                          "There is no process %d.", request->pid);
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    size_t size = 0;
    int r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = bus_view_process(reply, process, context->boot_id, &size);
    return r < 0 ? r : sd_bus_message_send(reply);
}

static int fill_status(sd_bus_message *reply, const Context *context, const Viewer *viewer) {
    StatusReport report;
    status_report(context, viewer, &report);
    return bus_view_status(reply, &report);
}

static int answer_status(sd_bus_message *call, const BusRequest *request __attribute__((unused)),
                         const Context *context, const Viewer *viewer) {
    return answer_with(call, context, viewer, fill_status);
}

static int fill_ready_count(sd_bus_message *reply, const Context *context, const Viewer *viewer) {
    uint64_t counts[STATE_COUNT_];
    status_count(context, viewer, counts);
    return sd_bus_message_append(reply, "v", "u", (uint32_t)counts[STATE_READY]);
}

static int answer_ready_count(sd_bus_message *call,
                              const BusRequest *request __attribute__((unused)),
                              const Context *context, const Viewer *viewer) {
    return answer_with(call, context, viewer, fill_ready_count);
}

static int fill_properties(sd_bus_message *reply, const Context *context, const Viewer *viewer) {
    StatusReport report;
    status_report(context, viewer, &report);
    return bus_view_properties(reply, &report);
}

static int answer_properties(sd_bus_message *call,
                             const BusRequest *request __attribute__((unused)),
                             const Context *context, const Viewer *viewer) {
    return answer_with(call, context, viewer, fill_properties);
}

// ---- methods

static int on_list(sd_bus_message *message, void *userdata, sd_bus_error *error) {
    BusRequest request = {0};
    const char *key;
    int r = bus_view_filter(message, &request.filter, &key);
    if (r == -EINVAL && !key)
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                "Filter: more entries than there are keys.");
    if (r == -EINVAL)
        // A long one is not sent back.
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                 "Filter: %s is not known, of another type, or can match nothing.",
                                 strlen(key) <= 64 ? key : "a key");
    return r < 0 ? r : bus_calls_take(userdata, message, &request, error);
}

static int on_get(sd_bus_message *message, void *userdata, sd_bus_error *error) {
    uint32_t pid;
    int r = sd_bus_message_read(message, "u", &pid);
    if (r < 0)
        return r;
    if (pid == 0 || pid > INT_MAX)
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "pid can be no process's.");
    BusRequest request = {.answer = answer_process, .pid = (pid_t)pid};
    return bus_calls_take(userdata, message, &request, error);
}

static int on_status(sd_bus_message *message, void *userdata, sd_bus_error *error) {
    BusRequest request = {.answer = answer_status};
    return bus_calls_take(userdata, message, &request, error);
}

// ---- properties

static int get_version(sd_bus *bus __attribute__((unused)),
                       const char *path __attribute__((unused)),
                       const char *interface __attribute__((unused)),
                       const char *property __attribute__((unused)), sd_bus_message *reply,
                       void *userdata __attribute__((unused)),
                       sd_bus_error *error __attribute__((unused))) {
    return sd_bus_message_append(reply, "s", DISCOVERY_VERSION);
}

static int get_run_id(sd_bus *bus __attribute__((unused)), const char *path __attribute__((unused)),
                      const char *interface __attribute__((unused)),
                      const char *property __attribute__((unused)), sd_bus_message *reply,
                      void *userdata, sd_bus_error *error __attribute__((unused))) {
    const BusCalls *calls = userdata;
    char text[SD_ID128_STRING_MAX];
    return sd_bus_message_append(reply, "s", sd_id128_to_string(calls->context->run_id, text));
}

// Mechanism and Degraded.
static int get_status(sd_bus *bus __attribute__((unused)), const char *path __attribute__((unused)),
                      const char *interface __attribute__((unused)), const char *property,
                      sd_bus_message *reply, void *userdata,
                      sd_bus_error *error __attribute__((unused))) {
    const BusCalls *calls = userdata;
    Status status;
    calls->context->collect(calls->context->userdata, &status);
    if (strcmp(property, "Degraded") == 0)
        return bus_view_degraded(reply, &status);
    return sd_bus_message_append(reply, "s", status.mechanism);
}

// The filter has taken every call that leads here.
static int get_ready_count(sd_bus *bus __attribute__((unused)),
                           const char *path __attribute__((unused)),
                           const char *interface __attribute__((unused)),
                           const char *property __attribute__((unused)),
                           sd_bus_message *reply __attribute__((unused)),
                           void *userdata __attribute__((unused)),
                           sd_bus_error *error __attribute__((unused))) {
    return -EACCES;
}

static bool wants_ready_count(sd_bus_message *message) {
    const char *interface, *property;
    return sd_bus_message_is_method_call(message, PROPERTIES, "Get") > 0 &&
           sd_bus_message_read(message, "ss", &interface, &property) > 0 &&
           strcmp(interface, DISCOVERY_BUS_INTERFACE) == 0 && strcmp(property, "ReadyCount") == 0;
}

// An empty name means all interfaces, of which ours alone has properties.
static bool wants_properties(sd_bus_message *message) {
    const char *interface;
    return sd_bus_message_is_method_call(message, PROPERTIES, "GetAll") > 0 &&
           sd_bus_message_read(message, "s", &interface) > 0 &&
           (interface[0] == '\0' || strcmp(interface, DISCOVERY_BUS_INTERFACE) == 0);
}

int bus_methods_filter(BusCalls *calls, sd_bus_message *message, sd_bus_error *error) {
    const char *path = sd_bus_message_get_path(message);
    if (!path || strcmp(path, DISCOVERY_BUS_PATH) != 0)
        return 0;
    BusRequest request = {0};
    if (wants_ready_count(message))
        request.answer = answer_ready_count;
    else if (wants_properties(message))
        request.answer = answer_properties;
    if (request.answer && sd_bus_message_at_end(message, true) <= 0)
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "Too many arguments.");
    if (request.answer)
        return bus_calls_take(calls, message, &request, error);
    int r = sd_bus_message_rewind(message, true);
    return r < 0 ? r : 0;
}

const sd_bus_vtable bus_methods_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_ARGS("ListProcesses", SD_BUS_ARGS("a{sv}", filter),
                            SD_BUS_RESULT("t", sequence, "aa{sv}", processes), on_list,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("GetProcess", SD_BUS_ARGS("u", pid), SD_BUS_RESULT("a{sv}", process),
                            on_get, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("GetStatus", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", status), on_status,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_SIGNAL_WITH_ARGS("ProcessChanged",
                            SD_BUS_ARGS("t", sequence, "s", id, "u", pid, "t", startTime, "s",
                                        state, "s", previousState, "s", reason),
                            0),
    SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("RunId", "s", get_run_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_PROPERTY("Mechanism", "s", get_status, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("Degraded", "as", get_status, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("ReadyCount", "u", get_ready_count, 0, 0),
    SD_BUS_VTABLE_END,
};
