// One sentence, put together from what the source has of each mechanism. What keeps several from
// being used is said once.
// SPDX-License-Identifier: MIT
#include "watching.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "announce.h"
#include "cleanup.h"

char *watching_text(const Source *source) {
    const Mechanism *mechanisms = source_mechanisms(source);
    MechanismId used = source_mechanism(source);
    _cleanup_free_ char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    fprintf(stream, "%s: %s", mechanisms[used].name, mechanisms[used].cost);
    const char *before = "; not ";
    for (MechanismId id = 0; id < used; id++) {
        const char *detail = mechanisms[id].detail, *next = mechanisms[id + 1].detail;
        bool has_next = id + 1 < used && detail && next && strcmp(detail, next) == 0;
        fprintf(stream, "%s%s", before, mechanisms[id].name);
        if (!has_next && detail)
            fprintf(stream, ": %s", detail);
        before = has_next ? ", " : "; not ";
    }
    return fclose(stream) == 0 ? TAKE_PTR(text) : NULL;
}

static int priority_of(MechanismId id) {
    if (id < MECHANISM_SYSCALL_TRACEPOINT)
        return LOG_INFO;
    return id < MECHANISM_PERF ? LOG_NOTICE : LOG_WARNING;
}

void watching_announce(const Source *source) {
    _cleanup_free_ char *text = watching_text(source);
    MechanismId used = source_mechanism(source);
    const Mechanism *mechanism = &source_mechanisms(source)[used];
    announce_mechanism(priority_of(used), mechanism->name, mechanism->cost,
                       text ? text : mechanism->name);
}
