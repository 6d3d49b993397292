// One attempt may try several sockets; what is told is the failure nearest to an answer. Details
// are made where the failure is seen, since only there both the path and the errno are known.
// SPDX-License-Identifier: MIT
#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"
#include "text.h"

// How near to an answer it came: a missing socket says least, one that was ours and silent most.
static const int ranks[] = {
    [OUTCOME_ANSWERED] = 0,  [OUTCOME_NO_SOCKET] = 1,      [OUTCOME_REFUSED] = 2,
    [OUTCOME_NOT_OWNER] = 3, [OUTCOME_TIMEOUT] = 5,        [OUTCOME_PERMISSION_DENIED] = 4,
    [OUTCOME_HUNG_UP] = 4,   [OUTCOME_PROTOCOL_ERROR] = 5, [OUTCOME_VANISHED] = 6,
    [OUTCOME_NOT_TRIED] = 7,
};
_Static_assert(ELEMENTS_OF(ranks) == OUTCOME_COUNT_, "an outcome has no rank");

void failure_done(Failure *failure) {
    if (!failure)
        return;
    free(failure->detail);
    *failure = (Failure){0};
}

// "PATH: ", or "" for no path; NULL when out of memory.
static char *path_prefix(const char *path) {
    if (!path || !path[0])
        return strdup("");
    _cleanup_free_ char *escaped = text_escape(path, strlen(path));
    char *prefix = NULL;
    if (!escaped || asprintf(&prefix, "%s: ", escaped) < 0)
        return NULL;
    return prefix;
}

void failure_set(Failure *failure, Outcome outcome, const char *path, int error, const char *format,
                 ...) {
    Failure new = {.outcome = outcome};
    if (path)
        snprintf(new.path, sizeof new.path, "%s", path);

    _cleanup_free_ char *prefix = path_prefix(path);
    _cleanup_free_ char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int r = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (r < 0)
        text = NULL; // undefined then

    if (prefix && text) {
        const char *name = error != 0 ? strerrorname_np(error) : NULL;
        if (name)
            r = asprintf(&new.detail, "%s%s (%s)", prefix, text, name);
        else if (error != 0)
            r = asprintf(&new.detail, "%s%s (errno %d)", prefix, text, error);
        else
            r = asprintf(&new.detail, "%s%s", prefix, text);
        if (r < 0)
            new.detail = NULL;
    }
    failure_done(failure);
    *failure = new;
}

void failure_append(Failure *failure, const char *text) {
    if (!failure->detail)
        return;
    size_t used = strlen(failure->detail), size = strlen(text) + 1;
    char *detail = realloc(failure->detail, used + size);
    if (!detail)
        return;
    memcpy(detail + used, text, size);
    failure->detail = detail;
}

void failure_merge(Failure *failure, Failure *other) {
    if (ranks[other->outcome] > ranks[failure->outcome]) {
        failure_done(failure);
        *failure = *other;
        other->detail = NULL;
    }
    failure_done(other);
}

bool failure_is_ours(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS ||
           error == ENOSYS;
}
