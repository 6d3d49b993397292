// Done once, where a reply comes in, so that nothing behind that can forget it. The daemon escapes
// already, so a string changes here only when it comes from somebody else.
// SPDX-License-Identifier: MIT
#include "scrub.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cleanup.h"
#include "text.h"

// Whether text_escape() changed nothing but the backslashes, which may be the daemon's escapes.
static bool only_backslashes(const char *text, size_t size, const char *escaped) {
    size_t backslashes = 0;
    for (size_t i = 0; i < size; i++)
        backslashes += text[i] == '\\';
    return strlen(escaped) == size + backslashes;
}

static int scrub_string(json_t *string) {
    const char *text = json_string_value(string);
    size_t size = json_string_length(string);
    _cleanup_free_ char *escaped = text_escape(text, size);
    if (!escaped)
        return -ENOMEM;
    if (only_backslashes(text, size, escaped))
        return 0;
    return json_string_set(string, escaped) < 0 ? -ENOMEM : 0;
}

static int check_name(const char *name) {
    size_t size = strlen(name);
    _cleanup_free_ char *escaped = text_escape(name, size);
    if (!escaped)
        return -ENOMEM;
    return only_backslashes(name, size, escaped) ? 0 : -EBADMSG;
}

int scrub(json_t *value) {
    int r = 0;
    if (json_is_string(value))
        return scrub_string(value);

    const char *name;
    size_t index;
    json_t *member;
    if (json_is_object(value)) {
        json_object_foreach(value, name, member) {
            r = check_name(name);
            if (r >= 0)
                r = scrub(member);
            if (r < 0)
                return r;
        }
    }
    if (json_is_array(value)) {
        json_array_foreach(value, index, member) {
            r = scrub(member);
            if (r < 0)
                return r;
        }
    }
    return 0;
}
