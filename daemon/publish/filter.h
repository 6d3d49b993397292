// Which processes a caller asked for, and which it may see.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>

#include "process.h"

#define GROUP_UNKNOWN ((gid_t)-1)

// Who asks.
typedef struct Viewer {
    uid_t uid;
    bool sees_all; // root or a member of the group
} Viewer;

// Strings are shell globs over the escaped text that the interface shows (its front); owned; NULL
// selects everything. Filter{0} does.
typedef struct Filter {
    pid_t pid; // 0: any
    bool has_uid;
    uid_t uid;
    bool has_state;
    State state;
    char *unit;
    char *command;
    char *entry_assembly;
    char *runtime_version;
    char *container_id;
} Filter;
void filter_done(Filter *filter);

// A member's value as a transport read it.
typedef struct FilterValue {
    const char *text; // NULL: a number
    int64_t number;
} FilterValue;

// Sets the member with this name in the interface description; NULL: to nothing. -EINVAL: there is
// none, or the value is of another type or can match nothing. -ENOMEM.
int filter_set(Filter *filter, const char *name, const FilterValue *value);

// From the Filter object of the interface (NULL and JSON null select everything). -EINVAL:
// *ret_name is the member at fault, into `object` or static. -ENOMEM.
int filter_parse(json_t *object, Filter *ret, const char **ret_name);

bool filter_match(const Filter *filter, const Traits *traits);
// Its two parts: what is compared, and what takes globs and hence time.
bool filter_match_values(const Filter *filter, const Traits *traits);
bool filter_match_texts(const Filter *filter, const Traits *traits);
bool filter_has_globs(const Filter *filter);
// Whether every filter's globs match one of them as they match the other.
bool filter_same_texts(const Traits *a, const Traits *b);
bool viewer_sees(const Viewer *viewer, const Traits *traits);
