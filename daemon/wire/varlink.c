// Frames and messages. JSON is jansson's business; around it stand the rules that it does not know:
// a frame ends at a NUL, its nesting is bounded before a parser recurses into it, and a member of
// the wrong type is refused, not overlooked.
//
// A member that the protocol does not know is refused too, as sd-varlink does: a misspelt "more"
// would else turn a subscription into a single call without a word. The exception is the one that
// the protocol makes, an extension nested in an object named in reverse-domain notation, which is
// ignored. A null member is one that was not sent: the protocol's own types are nullable.
// SPDX-License-Identifier: MIT
#include "varlink.h"

#include <errno.h>
#include <string.h>

#include "bounds.h"

ssize_t varlink_frame(const char *bytes, size_t size) {
    const char *end = size > 0 ? memchr(bytes, '\0', size) : NULL;
    return end ? end - bytes : -EAGAIN;
}

void varlink_call_done(VarlinkCall *call) {
    if (!call)
        return;
    json_decref(call->message);
    *call = (VarlinkCall){0};
}

void varlink_reply_done(VarlinkReply *reply) {
    if (!reply)
        return;
    json_decref(reply->message);
    *reply = (VarlinkReply){0};
}

// Right for every text that is JSON as far as it goes; at the first place where it is not, the
// parser stops, and what was counted behind it does no harm.
static bool is_too_deep(const char *bytes, size_t size) {
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > BOUND_MESSAGE_DEPTH)
                return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

static int refuse(const char *fault, const char **ret_fault) {
    *ret_fault = fault;
    return -EBADMSG;
}

static int load_object(const char *bytes, size_t size, json_t **ret, const char **ret_fault) {
    if (size == 0)
        return refuse("an empty message", ret_fault);
    if (memchr(bytes, '\0', size))
        return refuse("a NUL within a message", ret_fault);
    if (is_too_deep(bytes, size))
        return refuse("nested too deeply", ret_fault);

    json_error_t error = {0};
    _cleanup_json_ json_t *message = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
    if (!message) {
        // Without memory jansson has nothing to say, or, deep in a token, takes it for bad syntax.
        if (error.text[0] == '\0')
            return -ENOMEM;
        return refuse("not JSON", ret_fault);
    }
    if (!json_is_object(message))
        return refuse("not an object", ret_fault);
    *ret = TAKE_PTR(message);
    return 0;
}

static bool is_known(const char *name, const char *const *known) {
    for (; *known; known++)
        if (strcmp(name, *known) == 0)
            return true;
    return false;
}

static int check_members(json_t *message, const char *const *known, const char **ret_fault) {
    const char *name;
    json_t *value;
    json_object_foreach(message, name, value) {
        bool extension = strchr(name, '.') && json_is_object(value);
        if (!extension && !is_known(name, known))
            return refuse("a member that Varlink does not know", ret_fault);
    }
    return 0;
}

static json_t *member(const json_t *message, const char *name) {
    json_t *value = json_object_get(message, name);
    return json_is_null(value) ? NULL : value;
}

// False where it is there and not a boolean.
static bool flag(const json_t *message, const char *name, bool *ret) {
    const json_t *value = member(message, name);
    *ret = json_is_true(value);
    return !value || json_is_boolean(value);
}

int varlink_call_parse(const char *bytes, size_t size, VarlinkCall *ret, const char **ret_fault) {
    static const char *const known[] = {"method", "parameters", "oneway", "more", "upgrade", NULL};
    _cleanup_json_ json_t *message = NULL;
    int r = load_object(bytes, size, &message, ret_fault);
    if (r < 0)
        return r;
    r = check_members(message, known, ret_fault);
    if (r < 0)
        return r;

    const char *method = json_string_value(member(message, "method"));
    if (!method || *method == '\0')
        return refuse("no method", ret_fault);
    json_t *parameters = member(message, "parameters");
    if (parameters && !json_is_object(parameters))
        return refuse("parameters that are not an object", ret_fault);
    bool oneway, more, upgrade;
    if (!flag(message, "oneway", &oneway) || !flag(message, "more", &more) ||
        !flag(message, "upgrade", &upgrade))
        return refuse("oneway, more or upgrade that is not a boolean", ret_fault);
    if (oneway + more + upgrade > 1)
        return refuse("oneway, more and upgrade exclude each other", ret_fault);

    *ret = (VarlinkCall){
        .message = TAKE_PTR(message),
        .method = method,
        .parameters = parameters,
        .oneway = oneway,
        .more = more,
        .upgrade = upgrade,
    };
    return 0;
}

int varlink_reply_parse(const char *bytes, size_t size, VarlinkReply *ret, const char **ret_fault) {
    static const char *const known[] = {"parameters", "error", "continues", NULL};
    _cleanup_json_ json_t *message = NULL;
    int r = load_object(bytes, size, &message, ret_fault);
    if (r < 0)
        return r;
    r = check_members(message, known, ret_fault);
    if (r < 0)
        return r;

    json_t *parameters = member(message, "parameters");
    if (parameters && !json_is_object(parameters))
        return refuse("parameters that are not an object", ret_fault);
    json_t *error = member(message, "error");
    if (error && (!json_is_string(error) || json_string_length(error) == 0))
        return refuse("an error without a name", ret_fault);
    bool continues;
    if (!flag(message, "continues", &continues))
        return refuse("continues that is not a boolean", ret_fault);
    if (error && continues)
        return refuse("an error that continues", ret_fault);

    *ret = (VarlinkReply){
        .message = TAKE_PTR(message),
        .parameters = parameters,
        .error = json_string_value(error),
        .continues = continues,
    };
    return 0;
}

// Writes `message` as a frame. It is borrowed; NULL stands for one that could not be made.
static int write_frame(const json_t *message, char **ret, size_t *ret_size) {
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    if (!text)
        return -ENOMEM;
    *ret = text;
    *ret_size = strlen(text) + 1;
    return 0;
}

// Each adds a member to *message and, where that fails, leaves NULL there.
static void add(json_t **message, const char *name, json_t *value) {
    if (json_object_set_new(*message, name, value) == 0)
        return;
    json_decref(*message);
    *message = NULL;
}

static void add_parameters(json_t **message, json_t *parameters) {
    if (parameters)
        add(message, "parameters", json_incref(parameters));
}

int varlink_call_format(const char *method, json_t *parameters, bool more, char **ret,
                        size_t *ret_size) {
    _cleanup_json_ json_t *message = json_object();
    add(&message, "method", json_string(method));
    add_parameters(&message, parameters);
    if (more)
        add(&message, "more", json_true());
    return write_frame(message, ret, ret_size);
}

// Earlier editions of the protocol ask for parameters in every reply, later ones do not mind them.
int varlink_reply_format(json_t *parameters, bool continues, char **ret, size_t *ret_size) {
    _cleanup_json_ json_t *message = json_object();
    add(&message, "parameters", parameters ? json_incref(parameters) : json_object());
    if (continues)
        add(&message, "continues", json_true());
    return write_frame(message, ret, ret_size);
}

int varlink_error_format(const char *error, json_t *parameters, char **ret, size_t *ret_size) {
    _cleanup_json_ json_t *message = json_object();
    add(&message, "error", json_string(error));
    add_parameters(&message, parameters);
    return write_frame(message, ret, ret_size);
}
