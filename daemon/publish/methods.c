// Dispatch by table. The table also says which parameters a method has, so that unknown ones and
// wrong types are refused in one place and a handler finds only what it can use.
//
// No method does anything but answer, so one that is called "oneway" is not even looked at. "more"
// only says that the caller can take several replies: a method that never gives more than one gives
// one, as the protocol has it.
// SPDX-License-Identifier: MIT
#include "methods.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "discovery_names.h"
#include "interface_text.h"
#include "macro.h"
#include "peer.h"
#include "view.h"

#define SERVICE_INTERFACE "org.varlink.service"

typedef enum ParameterType {
    PARAMETER_STRING,
    PARAMETER_PID,
    PARAMETER_UNSIGNED,
    PARAMETER_FILTER, // whose members filter_parse() checks
} ParameterType;

typedef struct Parameter {
    const char *name; // NULL ends the list
    ParameterType type;
    bool required;
} Parameter;

typedef struct Method {
    const char *name;
    int (*handle)(Session *session, const VarlinkCall *call);
    bool needs_more;
    Parameter parameters[3];
} Method;

// A parameter that was sent and is not null.
static json_t *parameter(const VarlinkCall *call, const char *name) {
    json_t *value = json_object_get(call->parameters, name);
    return json_is_null(value) ? NULL : value;
}

// An error of the service interface that names what it is about.
static int answer_error(Session *session, const char *error, const char *member,
                        const char *value) {
    _cleanup_json_ json_t *parameters = json_pack("{s:s}", member, value);
    return parameters ? session_error(session, error, parameters) : -ENOMEM;
}

static int answer_invalid(Session *session, const char *name) {
    return answer_error(session, SERVICE_INTERFACE ".InvalidParameter", "parameter", name);
}

static int answer_no_process(Session *session, pid_t pid) {
    _cleanup_json_ json_t *parameters = json_pack("{s:i}", "pid", pid);
    if (!parameters)
        return -ENOMEM;
    return session_error(session, DISCOVERY_INTERFACE ".NoSuchProcess", parameters);
}

static int handle_info(Session *session, const VarlinkCall *call __attribute__((unused))) {
    _cleanup_json_ json_t *parameters = json_pack(
        "{s:s, s:s, s:s, s:s, s:[s,s]}", "vendor", DISCOVERY_DAEMON, "product", DISCOVERY_DAEMON,
        "version", DISCOVERY_VERSION, "url", "man:" DISCOVERY_INTERFACE "(7)", "interfaces",
        DISCOVERY_INTERFACE, SERVICE_INTERFACE);
    return session_reply(session, parameters);
}

static int handle_description(Session *session, const VarlinkCall *call) {
    const char *interface = json_string_value(parameter(call, "interface"));
    const char *text;
    if (strcmp(interface, DISCOVERY_INTERFACE) == 0)
        text = interface_text_manager;
    else if (strcmp(interface, SERVICE_INTERFACE) == 0)
        text = interface_text_service;
    else
        return answer_error(session, SERVICE_INTERFACE ".InterfaceNotFound", "interface",
                            interface);
    _cleanup_json_ json_t *parameters = json_pack("{s:s}", "description", text);
    return session_reply(session, parameters);
}

static int handle_filtered(Session *session, const VarlinkCall *call, bool is_list) {
    _cleanup_(filter_done) Filter filter = {0};
    const char *name;
    int r = filter_parse(parameter(call, "filter"), &filter, &name);
    if (r == -EINVAL)
        return answer_invalid(session, name);
    if (r < 0)
        return r;
    if (is_list && !call->more)
        return session_list(session, &filter);
    return session_stream(session, is_list ? SUBSCRIPTION_LIST : SUBSCRIPTION_EVENTS, &filter);
}

static int handle_list(Session *session, const VarlinkCall *call) {
    return handle_filtered(session, call, true);
}

static int handle_subscribe(Session *session, const VarlinkCall *call) {
    return handle_filtered(session, call, false);
}

static int handle_get(Session *session, const VarlinkCall *call) {
    const Context *context = &session->shared->context;
    pid_t pid = (pid_t)json_integer_value(parameter(call, "pid"));
    json_t *start_time = parameter(call, "startTime");
    const Process *process = registry_find_pid(context->registry, pid);
    if (!process || !viewer_sees(&session->viewer, &process->traits) ||
        (start_time && process->key.start_ticks != (uint64_t)json_integer_value(start_time)))
        return answer_no_process(session, pid);

    _cleanup_json_ json_t *object = NULL;
    int r = view_process_json(process, context->boot_id, &object);
    if (r < 0)
        return r;
    _cleanup_json_ json_t *parameters = json_pack("{s:O}", "process", object);
    return session_reply(session, parameters);
}

static int handle_status(Session *session, const VarlinkCall *call __attribute__((unused))) {
    _cleanup_json_ json_t *parameters = status_json(&session->shared->context, &session->viewer);
    return session_reply(session, parameters);
}

// A check asks the process and tells what it found: to those only who would see the process, be it
// in the registry or not.
static bool may_check(const Session *session, pid_t pid) {
    if (pid == 0 || session->viewer.sees_all)
        return true;
    const Process *process = registry_find_pid(session->shared->context.registry, pid);
    return process ? viewer_sees(&session->viewer, &process->traits)
                   : peer_owns(&session->viewer, pid);
}

static int handle_check(Session *session, const VarlinkCall *call) {
    pid_t pid = (pid_t)json_integer_value(parameter(call, "pid"));
    if (!may_check(session, pid))
        return answer_no_process(session, pid);
    int r = session_check(session, pid);
    return r == -ESRCH ? answer_no_process(session, pid) : r;
}

static const Method methods[] = {
    {DISCOVERY_INTERFACE ".List", handle_list, false, {{"filter", PARAMETER_FILTER, false}}},
    {DISCOVERY_INTERFACE ".Get",
     handle_get,
     false,
     {{"pid", PARAMETER_PID, true}, {"startTime", PARAMETER_UNSIGNED, false}}},
    {DISCOVERY_INTERFACE ".Subscribe",
     handle_subscribe,
     true,
     {{"filter", PARAMETER_FILTER, false}}},
    {DISCOVERY_INTERFACE ".Status", handle_status, false, {{0}}},
    {DISCOVERY_INTERFACE ".Check", handle_check, false, {{"pid", PARAMETER_PID, false}}},
    {SERVICE_INTERFACE ".GetInfo", handle_info, false, {{0}}},
    {SERVICE_INTERFACE ".GetInterfaceDescription",
     handle_description,
     false,
     {{"interface", PARAMETER_STRING, true}}},
};

static bool is_integer_in(const json_t *value, json_int_t minimum, json_int_t maximum) {
    return json_is_integer(value) && json_integer_value(value) >= minimum &&
           json_integer_value(value) <= maximum;
}

// `value` is NULL where none or null was sent.
static bool is_valid(const Parameter *declared, const json_t *value) {
    if (!value)
        return !declared->required;
    switch (declared->type) {
    case PARAMETER_STRING:
        return json_is_string(value);
    case PARAMETER_PID:
        return is_integer_in(value, 1, INT_MAX);
    case PARAMETER_UNSIGNED:
        return is_integer_in(value, 0, LLONG_MAX);
    case PARAMETER_FILTER:
        return json_is_object(value);
    }
    return false;
}

static bool is_parameter(const Method *method, const char *name) {
    for (const Parameter *p = method->parameters; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return true;
    return false;
}

// The name of the first parameter that is not as the method has it; NULL where all are.
static const char *find_invalid(const Method *method, const VarlinkCall *call) {
    json_t *parameters = call->parameters;
    // json_object_iter() of NULL is NULL.
    for (void *i = json_object_iter(parameters); i; i = json_object_iter_next(parameters, i))
        if (!is_parameter(method, json_object_iter_key(i)))
            return json_object_iter_key(i);
    for (const Parameter *p = method->parameters; p->name; p++)
        if (!is_valid(p, parameter(call, p->name)))
            return p->name;
    return NULL;
}

static bool has_interface(const char *method, const char *interface) {
    size_t length = strlen(interface);
    return strncmp(method, interface, length) == 0 && method[length] == '.' &&
           !strchr(method + length + 1, '.');
}

static int answer_unknown(Session *session, const char *method) {
    const char *dot = strrchr(method, '.');
    if (!dot || has_interface(method, DISCOVERY_INTERFACE) ||
        has_interface(method, SERVICE_INTERFACE))
        return answer_error(session, SERVICE_INTERFACE ".MethodNotFound", "method", method);
    _cleanup_free_ char *interface = strndup(method, (size_t)(dot - method));
    if (!interface)
        return -ENOMEM;
    return answer_error(session, SERVICE_INTERFACE ".InterfaceNotFound", "interface", interface);
}

int methods_call(Session *session, const VarlinkCall *call) {
    if (call->oneway)
        return 0;
    for (size_t i = 0; i < ELEMENTS_OF(methods); i++) {
        const Method *method = &methods[i];
        if (strcmp(method->name, call->method) != 0)
            continue;
        if (call->upgrade)
            return answer_invalid(session, "upgrade");
        if (method->needs_more && !call->more)
            return session_error(session, SERVICE_INTERFACE ".ExpectedMore", NULL);
        const char *invalid = find_invalid(method, call);
        return invalid ? answer_invalid(session, invalid) : method->handle(session, call);
    }
    return answer_unknown(session, call->method);
}
