// Filters and visibility. Globs are tried on the escaped text, since that is what a caller has seen
// and copied. Both pattern and text are bounded: a caller chooses one and a process the other, and
// a try takes the product of both.
// SPDX-License-Identifier: MIT
#include "filter.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "cleanup.h"
#include "pattern.h"
#include "view.h"

void filter_done(Filter *filter) {
    free(filter->unit);
    free(filter->command);
    free(filter->entry_assembly);
    free(filter->runtime_version);
    free(filter->container_id);
    *filter = (Filter){0};
}

// The member that holds this glob; NULL where the name is none of a glob.
static char **glob_member(Filter *filter, const char *name) {
    if (strcmp(name, "unit") == 0)
        return &filter->unit;
    if (strcmp(name, "command") == 0)
        return &filter->command;
    if (strcmp(name, "entryAssembly") == 0)
        return &filter->entry_assembly;
    if (strcmp(name, "runtimeVersion") == 0)
        return &filter->runtime_version;
    if (strcmp(name, "containerId") == 0)
        return &filter->container_id;
    return NULL;
}

static int parse_integer(const json_t *value, json_int_t minimum, json_int_t maximum,
                         json_int_t *ret) {
    if (!json_is_integer(value))
        return -EINVAL;
    json_int_t integer = json_integer_value(value);
    if (integer < minimum || integer > maximum)
        return -EINVAL;
    *ret = integer;
    return 0;
}

static int parse_glob(const json_t *value, char **ret) {
    // The empty glob would match nothing: a field without text is absent.
    size_t length = json_string_length(value);
    if (!json_is_string(value) || length == 0 || length > BOUND_PATTERN)
        return -EINVAL;
    char *pattern = strdup(json_string_value(value));
    if (!pattern)
        return -ENOMEM;
    *ret = pattern;
    return 0;
}

static int parse_state(const json_t *value, State *ret) {
    return json_is_string(value) ? state_from_string(json_string_value(value), ret) : -EINVAL;
}

static int parse_member(Filter *filter, const char *name, const json_t *value) {
    char **glob = glob_member(filter, name);
    bool is_pid = strcmp(name, "pid") == 0;
    bool is_uid = strcmp(name, "uid") == 0;
    bool is_state = strcmp(name, "state") == 0;
    if (!glob && !is_pid && !is_uid && !is_state)
        return -EINVAL;
    if (json_is_null(value))
        return 0;
    if (glob)
        return parse_glob(value, glob);

    if (is_state) {
        int r = parse_state(value, &filter->state);
        filter->has_state = r >= 0;
        return r;
    }
    json_int_t integer = 0;
    int r = is_pid ? parse_integer(value, 1, INT_MAX, &integer)
                   : parse_integer(value, 0, (json_int_t)UID_UNKNOWN - 1, &integer);
    if (r < 0)
        return r;
    if (is_pid) {
        filter->pid = (pid_t)integer;
    } else {
        filter->uid = (uid_t)integer;
        filter->has_uid = true;
    }
    return 0;
}

int filter_parse(json_t *object, Filter *ret, const char **ret_name) {
    _cleanup_(filter_done) Filter filter = {0};
    if (object && !json_is_null(object) && !json_is_object(object)) {
        *ret_name = "filter";
        return -EINVAL;
    }

    // json_object_iter() of anything but an object is NULL.
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
        const char *name = json_object_iter_key(i);
        int r = parse_member(&filter, name, json_object_iter_value(i));
        if (r < 0) {
            *ret_name = name;
            return r;
        }
    }
    *ret = filter;
    filter = (Filter){0};
    return 0;
}

static void cut(char *text, size_t characters) {
    for (; *text != '\0'; text++) {
        if ((*text & 0xc0) != 0x80 && characters-- == 0) {
            *text = '\0';
            return;
        }
    }
}

static bool text_matches(const char *pattern, const char *bytes) {
    if (!pattern)
        return true;
    if (!bytes || bytes[0] == '\0')
        return false;
    _cleanup_free_ char *text = view_text(bytes);
    if (!text)
        return false;
    cut(text, BOUND_PATTERN_TEXT);
    return pattern_match(pattern, text);
}

bool filter_match_values(const Filter *filter, const Traits *traits) {
    if (filter->pid != 0 && filter->pid != traits->pid)
        return false;
    if (filter->has_uid && filter->uid != traits->uid)
        return false;
    return !filter->has_state || filter->state == traits->state;
}

bool filter_match_texts(const Filter *filter, const Traits *traits) {
    const Facts *facts = traits->facts;
    return text_matches(filter->command, traits->command) &&
           text_matches(filter->unit, facts ? facts->unit : NULL) &&
           text_matches(filter->entry_assembly, facts ? facts->entry_assembly : NULL) &&
           text_matches(filter->runtime_version, facts ? facts->runtime_version : NULL) &&
           text_matches(filter->container_id, facts ? facts->container_id : NULL);
}

bool filter_match(const Filter *filter, const Traits *traits) {
    return filter_match_values(filter, traits) && filter_match_texts(filter, traits);
}

bool filter_has_globs(const Filter *filter) {
    return filter->unit || filter->command || filter->entry_assembly || filter->runtime_version ||
           filter->container_id;
}

bool filter_same_texts(const Traits *a, const Traits *b) {
    return a->facts == b->facts && strcmp(a->command, b->command) == 0;
}

bool viewer_sees(const Viewer *viewer, const Traits *traits) {
    return viewer->sees_all || (traits->uid != UID_UNKNOWN && traits->uid == viewer->uid);
}
