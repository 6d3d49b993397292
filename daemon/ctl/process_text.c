// Texts about a process. States are the daemon's words; one that this program does not know is
// shown all the same.
// SPDX-License-Identifier: MIT
#include "process_text.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "field.h"
#include "macro.h"

const char *process_text(json_t *process, const char *name) {
    const char *text = field_text(process, name);
    return text && *text ? text : "-";
}

const char *process_text_entry(json_t *process) {
    const char *entry = field_text(process, "entryAssembly");
    return entry && *entry ? entry : process_text(process, "command");
}

Style process_text_style(json_t *process) {
    static const struct {
        const char *state;
        Style style;
    } styles[] = {
        {"detected", STYLE_WARNING},
        {"ready", STYLE_GOOD},
        {"unreachable", STYLE_BAD},
        {"gone", STYLE_FAINT},
    };
    const char *state = process_text(process, "state");
    for (size_t i = 0; i < ELEMENTS_OF(styles); i++)
        if (strcmp(styles[i].state, state) == 0)
            return styles[i].style;
    return STYLE_PLAIN;
}

void process_text_state(json_t *process, char ret[static PROCESS_TEXT_SIZE]) {
    const char *reason = field_text(process, "reason");
    if (reason)
        snprintf(ret, PROCESS_TEXT_SIZE, "%.30s (%.30s)", process_text(process, "state"), reason);
    else
        snprintf(ret, PROCESS_TEXT_SIZE, "%.30s", process_text(process, "state"));
}

void process_text_user(json_t *process, char ret[static PROCESS_TEXT_SIZE]) {
    uint64_t uid;
    if (!field_number(process, "uid", &uid)) {
        snprintf(ret, PROCESS_TEXT_SIZE, "-");
        return;
    }
    const struct passwd *user = uid < UINT32_MAX ? getpwuid((uid_t)uid) : NULL;
    if (user)
        snprintf(ret, PROCESS_TEXT_SIZE, "%s", user->pw_name);
    else
        snprintf(ret, PROCESS_TEXT_SIZE, "%" PRIu64, uid);
}
