// Four features, each of which may be missing without the others, and is then told in a sentence:
// it is degraded, not failed.
// SPDX-License-Identifier: MIT
#include "programs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"

static const struct {
    const char *name;
    const char *kind;
    const char *cost; // of doing without
} features[PROGRAM_COUNT_] = {
    [PROGRAM_MAPPING] = {"mapping", "none", "a process that starts is not noticed by its mapping"},
    [PROGRAM_LISTEN] = {"listen", "none",
                        "a process that starts is not noticed by its socket, and those of runtimes "
                        "before 10.0.5 have no mapping"},
    [PROGRAM_EXEC] = {"exec", "raw tracepoint sched_process_exec",
                      "a process that executes another program stays listed until it ends"},
    [PROGRAM_SCAN] = {"scan", "iterator task_file",
                      "what runs already is found by reading /proc, which takes longer"},
};

int programs_init(Program programs[static PROGRAM_COUNT_], const bool without[PROGRAM_COUNT_]) {
    int r = 0;
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++) {
        programs[id] = (Program){.name = features[id].name, .kind = features[id].kind};
        if (r == 0 && without[id])
            r = programs_miss(programs, id, "left out on request");
    }
    return r;
}

void programs_done(Program programs[static PROGRAM_COUNT_]) {
    for (ProgramId id = 0; id < PROGRAM_COUNT_; id++)
        free(programs[id].detail);
}

void programs_have(Program programs[static PROGRAM_COUNT_], ProgramId id, const char *kind) {
    Program *program = &programs[id];
    free(program->detail);
    *program = (Program){
        .name = features[id].name,
        .kind = kind ? kind : features[id].kind,
        .attached = true,
    };
}

int programs_miss(Program programs[static PROGRAM_COUNT_], ProgramId id, const char *format, ...) {
    _cleanup_free_ char *why = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&why, format, args);
    va_end(args);
    char *detail;
    if (n < 0) {
        why = NULL;
        return -ENOMEM;
    }
    if (asprintf(&detail, "the kernel program %s is %s: %s", features[id].name, why,
                 features[id].cost) < 0)
        return -ENOMEM;
    free(programs[id].detail);
    programs[id].detail = detail;
    return 0;
}
