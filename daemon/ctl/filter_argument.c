// Filters of the command line. Types are checked here, what a state is called by the daemon.
// SPDX-License-Identifier: MIT
#include "filter_argument.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"

typedef enum FilterType { FILTER_PID, FILTER_UID, FILTER_TEXT } FilterType;

static const struct {
    const char *name;
    FilterType type;
} members[] = {
    {"pid", FILTER_PID},
    {"uid", FILTER_UID},
    {"state", FILTER_TEXT},
    {"unit", FILTER_TEXT},
    {"command", FILTER_TEXT},
    {"entryAssembly", FILTER_TEXT},
    {"runtimeVersion", FILTER_TEXT},
    {"containerId", FILTER_TEXT},
};

// Decimal digits only: no sign, no blanks, no other base.
static bool parse_number(const char *text, uint64_t maximum, uint64_t *ret) {
    uint64_t number = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        number = number * 10 + (uint64_t)(*text - '0');
        if (number > maximum)
            return false;
    }
    *ret = number;
    return true;
}

bool filter_argument_pid(const char *text, uint64_t *ret) {
    uint64_t number;
    if (!parse_number(text, INT_MAX, &number) || number == 0)
        return false;
    *ret = number;
    return true;
}

// A number or a user's name. The largest number is (uid_t)-1, which is no user.
static bool parse_user(const char *text, uint64_t *ret) {
    if (parse_number(text, UINT32_MAX - 1, ret))
        return true;
    const struct passwd *user = getpwnam(text);
    if (!user)
        return false;
    *ret = user->pw_uid;
    return true;
}

static int parse_value(FilterType type, const char *text, json_t **ret, const char **ret_fault) {
    uint64_t number;
    switch (type) {
    case FILTER_PID:
        if (!filter_argument_pid(text, &number)) {
            *ret_fault = "does not name a process id";
            return -EINVAL;
        }
        *ret = json_integer((json_int_t)number);
        break;
    case FILTER_UID:
        if (!parse_user(text, &number)) {
            *ret_fault = "names no user";
            return -EINVAL;
        }
        *ret = json_integer((json_int_t)number);
        break;
    case FILTER_TEXT:
        if (!*text) {
            *ret_fault = "has no value";
            return -EINVAL;
        }
        *ret = json_string(text);
        if (!*ret) {
            *ret_fault = "is not UTF-8";
            return -EINVAL;
        }
        break;
    }
    return *ret ? 0 : -ENOMEM;
}

int filter_argument_add(json_t *filter, const char *argument, const char **ret_fault) {
    const char *equals = strchr(argument, '=');
    if (!equals) {
        *ret_fault = "is not NAME=VALUE";
        return -EINVAL;
    }
    size_t size = (size_t)(equals - argument);
    for (size_t i = 0; i < ELEMENTS_OF(members); i++) {
        const char *name = members[i].name;
        if (strlen(name) != size || memcmp(name, argument, size) != 0)
            continue;
        if (json_object_get(filter, name)) {
            *ret_fault = "names what another filter names already";
            return -EINVAL;
        }
        json_t *value = NULL;
        int r = parse_value(members[i].type, equals + 1, &value, ret_fault);
        if (r < 0)
            return r;
        return json_object_set_new(filter, name, value) < 0 ? -ENOMEM : 0;
    }
    *ret_fault = "has none of the names " FILTER_ARGUMENT_NAMES;
    return -EINVAL;
}
