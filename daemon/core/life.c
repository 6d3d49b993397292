// One life: how it begins, what signals add to it, and how keys order.
// SPDX-License-Identifier: MIT
#include "life.h"

#include <stdlib.h>
#include <string.h>

// Only the kernel side knows the exec count, and it compares who listens, in its scans too.
static bool is_by_kernel(const Signal *signal) {
    return signal->kind != SIGNAL_SCAN || signal->key.exec_count != EXEC_COUNT_UNKNOWN;
}

Life *life_new(uint64_t serial, const Signal *signal) {
    Life *life = malloc(sizeof *life);
    if (!life)
        return NULL;
    *life = (Life){
        .process =
            {
                .serial = serial,
                .key = signal->key,
                .id_exec_count = signal->key.exec_count,
                .traits = {.pid = signal->key.pid, .uid = signal->uid, .state = STATE_DETECTED},
                .gid = signal->gid,
                .namespace_pid = signal->namespace_pid,
                .signal = signal->kind,
                .protection = signal->protection,
                .detected = signal->seen,
            },
        .charged_uid = signal->uid,
        .named_by_kernel = is_by_kernel(signal),
        .window_us = signal->seen.boottime_us,
    };
    memcpy(life->process.traits.command, signal->command, COMMAND_SIZE);
    memcpy(life->process.socket_hint, signal->socket_path, SOCKET_PATH_SIZE);
    return life;
}

void life_free(Life *life) {
    if (!life)
        return;
    free(life->process.detail);
    facts_free(life->facts);
    free(life);
}

LifeNews life_merge(Life *life, const Signal *signal) {
    Process *process = &life->process;
    LifeNews news = LIFE_NEWS_NONE;

    if (process->key.exec_count == EXEC_COUNT_UNKNOWN)
        process->key.exec_count = signal->key.exec_count;
    if (is_by_kernel(signal))
        life->named_by_kernel = true;
    if (signal->socket_path[0] != '\0' && process->traits.state != STATE_READY)
        memcpy(process->socket_hint, signal->socket_path, SOCKET_PATH_SIZE);
    if (process->protection == PROTECTION_UNKNOWN && signal->protection != PROTECTION_UNKNOWN) {
        process->protection = signal->protection;
        // A runtime that has just listened maps the name right after: no event of its own for that.
        news = process->traits.state == STATE_DETECTED ? LIFE_NEWS_LATER : LIFE_NEWS_NOW;
    }
    if (process->namespace_pid == 0 && signal->namespace_pid != 0) {
        process->namespace_pid = signal->namespace_pid;
        news = LIFE_NEWS_NOW;
    }
    if (process->traits.uid == UID_UNKNOWN && signal->uid != UID_UNKNOWN) {
        process->traits.uid = signal->uid;
        process->gid = signal->gid;
        news = LIFE_NEWS_NOW;
    }
    return news;
}

LifeRelation life_compare(const ProcessKey *life, const ProcessKey *key) {
    if (key->start_ticks != life->start_ticks)
        return key->start_ticks > life->start_ticks ? LIFE_NEWER : LIFE_OLDER;
    if (key->exec_count == life->exec_count || key->exec_count == EXEC_COUNT_UNKNOWN ||
        life->exec_count == EXEC_COUNT_UNKNOWN)
        return LIFE_SAME;
    return key->exec_count > life->exec_count ? LIFE_NEWER : LIFE_OLDER;
}
