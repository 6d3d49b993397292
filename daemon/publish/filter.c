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

static int set_number(const FilterValue *value, int64_t minimum, int64_t maximum, int64_t *ret) {
    if (value->text || value->number < minimum || value->number > maximum)
        return -EINVAL;
    *ret = value->number;
    return 0;
}

static int set_glob(const FilterValue *value, char **ret) {
    // The empty glob would match nothing: a field without text is absent.
    if (!value->text || value->text[0] == '\0' || strlen(value->text) > BOUND_PATTERN)
        return -EINVAL;
    char *pattern = strdup(value->text);
    if (!pattern)
        return -ENOMEM;
    free(*ret);
    *ret = pattern;
    return 0;
}

static int set_state(const FilterValue *value, State *ret) {
    return value->text ? state_from_string(value->text, ret) : -EINVAL;
}

int filter_set(Filter *filter, const char *name, const FilterValue *value) {
    char **glob = glob_member(filter, name);
    bool is_pid = strcmp(name, "pid") == 0;
    bool is_uid = strcmp(name, "uid") == 0;
    bool is_state = strcmp(name, "state") == 0;
    if (!glob && !is_pid && !is_uid && !is_state)
        return -EINVAL;
    if (!value)
        return 0;
    if (glob)
        return set_glob(value, glob);

    if (is_state) {
        int r = set_state(value, &filter->state);
        filter->has_state = r >= 0;
        return r;
    }
    int64_t number = 0;
    int r = is_pid ? set_number(value, 1, INT_MAX, &number)
                   : set_number(value, 0, (int64_t)UID_UNKNOWN - 1, &number);
    if (r < 0)
        return r;
    if (is_pid) {
        filter->pid = (pid_t)number;
    } else {
        filter->uid = (uid_t)number;
        filter->has_uid = true;
    }
    return 0;
}

static int parse_member(Filter *filter, const char *name, const json_t *value) {
    if (json_is_null(value))
        return filter_set(filter, name, NULL);
    if (!json_is_string(value) && !json_is_integer(value))
        return -EINVAL;
    const FilterValue read = {.text = json_string_value(value),
                              .number = json_integer_value(value)};
    return filter_set(filter, name, &read);
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
