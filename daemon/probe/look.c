// The hinted socket first, then those found in the kernel's tables, each connected to and verified,
// until one has the question. All that is called here may block, and none of it logs, knows the
// loop or touches what another thread can see; libsystemd's look-ups of units hold no state.
// SPDX-License-Identifier: MIT
#include "look.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "connection.h"
#include "discovery_names.h"
#include "ipc.h"
#include "socket_path.h"
#include "unix_table.h"

int look_new(const ProcessKey *key, const char *hint, Look **ret) {
    Look *look = malloc(sizeof *look);
    if (!look)
        return -ENOMEM;
    *look = (Look){
        .job = {.pid = key->pid},
        .version = IPC_VERSION_NEWEST,
        .target = {.key = *key, .directory = -1},
        .fd = -1,
    };
    // One that is too long is cut and will not be found; no kernel binds it.
    strncpy(look->hint, hint, sizeof look->hint - 1);
    *ret = look;
    return 0;
}

void look_free(Look *look) {
    if (!look)
        return;
    safe_close(look->fd);
    target_done(&look->target);
    failure_done(&look->failure);
    facts_free(look->facts);
    free(look);
}

// A socket that is not there, not alive or not the process's own says nothing of the next one. Nor
// does one that does not speak the protocol, unless it has the name of one that should.
bool look_leaves_others(const Look *look, Outcome outcome) {
    return outcome == OUTCOME_NO_SOCKET || outcome == OUTCOME_REFUSED ||
           outcome == OUTCOME_HUNG_UP || outcome == OUTCOME_NOT_OWNER ||
           (outcome == OUTCOME_PROTOCOL_ERROR && !unix_table_is_diagnostic(look->path));
}

static int open_target(Look *look) {
    _cleanup_(failure_done) Failure failure = {0};
    ProcessKey key = look->target.key;
    int r = target_open(&key, &look->target, &failure);
    if (r == STEP_FAILED)
        failure_merge(&look->failure, &failure);
    return r;
}

// Asks at look->path. STEP_FAILED: merged, *ret_outcome tells.
static int ask(Look *look, Outcome *ret_outcome) {
    _cleanup_(failure_done) Failure failure = {0};
    if (atomic_load(&look->job.let_go))
        return -ECANCELED;
    int r = connection_ask(&look->target, look->path, look->version, &look->job.let_go, &look->fd,
                           &failure);
    if (r == STEP_FAILED) {
        *ret_outcome = failure.outcome;
        failure_merge(&look->failure, &failure);
    }
    return r;
}

// Puts the next path to ask, of those known so far, into look->path; false where there is none.
static bool next_path(Look *look) {
    if (!look->hint_used) {
        look->hint_used = true;
        if (look->hint[0]) {
            memcpy(look->path, look->hint, sizeof look->path);
            return true;
        }
    }
    while (look->candidates_used < look->candidates.count) {
        const char *path = look->candidates.paths[look->candidates_used++];
        if (strcmp(path, look->hint) == 0)
            continue;
        memcpy(look->path, path, sizeof look->path);
        return true;
    }
    return false;
}

static int locate(Look *look) {
    _cleanup_(failure_done) Failure failure = {0};
    look->located = true;
    int r = locator_find(&look->target, look->named_only, &look->candidates, &failure);
    if (r == STEP_FAILED)
        failure_merge(&look->failure, &failure);
    return r;
}

static int ask_next(Look *look) {
    for (;;) {
        if (!next_path(look)) {
            // All that were found have been asked, or none has been looked for yet.
            int r = look->located ? STEP_FAILED : locate(look);
            if (r != STEP_DONE)
                return r;
            continue;
        }
        look->version = IPC_VERSION_NEWEST;
        Outcome outcome = OUTCOME_NOT_TRIED;
        int r = ask(look, &outcome);
        if (r != STEP_FAILED || !look_leaves_others(look, outcome))
            return r;
    }
}

static int ask_again(Look *look) {
    Outcome outcome;
    return ask(look, &outcome);
}

static int read_facts(Look *look) {
    _cleanup_(failure_done) Failure failure = {0};
    if (look->facts)
        return STEP_DONE;
    int r = target_facts(&look->target, &look->facts, &failure);
    if (r == STEP_FAILED)
        failure_merge(&look->failure, &failure);
    if (r == STEP_DONE && look->wants_protection)
        target_mappings(&look->target, look->facts);
    return r;
}

// A runtime binds its socket once, and does without where the name is taken: by a file left behind
// by what this process executed before, or by a process of the same number that shares the folder.
static void note_taken_path(Look *look) {
    const Target *target = &look->target;
    char path[SOCKET_PATH_SIZE];
    snprintf(path, sizeof path, "/tmp/" DISCOVERY_SOCKET_PREFIX "%d-%" PRIu64 "-socket",
             target->status.namespace_pid, target->key.start_ticks);
    if (!look->facts->taken_path && socket_path_is_taken(target, path))
        look->facts->taken_path = strdup(path);
}

static int has_no_port(Look *look) {
    _cleanup_(failure_done) Failure failure = {0};
    failure_set(&failure, OUTCOME_NO_SOCKET, NULL, 0, "%s", look->target.without_port);
    failure_merge(&look->failure, &failure);
    return STEP_FAILED;
}

static int look_on(Look *look) {
    int r = look->target.directory >= 0 ? STEP_DONE : open_target(look);
    if (r == STEP_DONE && look->target.without_port)
        return has_no_port(look);
    if (r == STEP_DONE)
        r = look->same_socket ? ask_again(look) : ask_next(look);
    return r == STEP_DONE ? read_facts(look) : r;
}

void look_run(Look *look) {
    look->result = look_on(look);
    if (look->result == STEP_DONE)
        return;
    look->fd = safe_close(look->fd);
    // Of one that was not reached too; where the daemon lacks something for them it does without,
    // this not being the last attempt.
    if (look->result == STEP_FAILED && look->target.directory >= 0 &&
        read_facts(look) == STEP_DONE && look->failure.outcome == OUTCOME_NO_SOCKET &&
        look->failure.path[0] == '\0')
        note_taken_path(look);
}
