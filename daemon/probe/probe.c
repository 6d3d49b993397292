// The pool: attempts by serial, and a queue of those that wait for a place. An attempt is started
// from the loop, one a turn, so that a burst of them delays nothing else for long and a result
// never comes from within probe_start(). Two attempts at one process, which happens when a client
// has it checked, come one after the other.
// SPDX-License-Identifier: MIT
#include "probe.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "attempt.h"
#include "cleanup.h"

typedef struct Entry {
    uint64_t serial;
    Attempt *attempt; // owned
    pid_t pid;
    ProbePool *pool;          // borrowed
    TAILQ_ENTRY(Entry) queue; // pool::waiting, then pool::running
} Entry;

struct ProbePool {
    sd_event *event; // referenced
    size_t limit;
    ProbeInput input;
    void *userdata;
    void *entries; // owned, by serial, tsearch(3)
    TAILQ_HEAD(, Entry) waiting;
    TAILQ_HEAD(, Entry) running;
    sd_event_source *turn; // owned; enabled while one waits that can be started
    ProbeCounters counters;
};

static int compare_entries(const void *left, const void *right) {
    const Entry *l = left, *r = right;
    return (l->serial > r->serial) - (l->serial < r->serial);
}

static void entry_free(void *item) {
    Entry *entry = item;
    if (!entry)
        return;
    attempt_free(entry->attempt);
    free(entry);
}

static void entry_freep(Entry **entry) {
    entry_free(*entry);
}

static bool is_being_asked(const ProbePool *pool, pid_t pid) {
    const Entry *entry;
    TAILQ_FOREACH(entry, &pool->running, queue) {
        if (entry->pid == pid)
            return true;
    }
    return false;
}

// The one that waits longest among those that can be started; NULL where none can.
static Entry *next_entry(const ProbePool *pool) {
    if (pool->counters.in_flight >= pool->limit)
        return NULL;
    Entry *entry;
    TAILQ_FOREACH(entry, &pool->waiting, queue) {
        if (!is_being_asked(pool, entry->pid))
            return entry;
    }
    return NULL;
}

static int update_turn(ProbePool *pool) {
    return sd_event_source_set_enabled(pool->turn, next_entry(pool) ? SD_EVENT_ON : SD_EVENT_OFF);
}

// Takes it out of the pool; the caller owns it then.
static void remove_entry(ProbePool *pool, Entry *entry) {
    tdelete(entry, &pool->entries, compare_entries);
    if (attempt_is_started(entry->attempt)) {
        TAILQ_REMOVE(&pool->running, entry, queue);
        pool->counters.in_flight--;
    } else {
        TAILQ_REMOVE(&pool->waiting, entry, queue);
        pool->counters.waiting--;
    }
    // Cannot fail: the source was enabled before, so the loop has the memory it takes.
    (void)update_turn(pool);
}

static void on_ended(void *userdata, Attempt *attempt) {
    Entry *entry = userdata;
    ProbePool *pool = entry->pool;
    ProbeInput deliver = pool->input;
    void *deliver_userdata = pool->userdata;

    Input input = attempt_take_input(attempt);
    if (input.probed.outcome == OUTCOME_ANSWERED)
        pool->counters.answered++;
    else
        pool->counters.failed++;
    remove_entry(pool, entry);
    entry_free(entry);
    // Last, since it may start, cancel or free anything.
    deliver(deliver_userdata, &input);
}

static int on_turn(sd_event_source *source, void *userdata) {
    ProbePool *pool = userdata;
    Entry *entry = next_entry(pool);
    (void)source;
    assert(entry);

    TAILQ_REMOVE(&pool->waiting, entry, queue);
    TAILQ_INSERT_TAIL(&pool->running, entry, queue);
    pool->counters.waiting--;
    pool->counters.in_flight++;
    int r = update_turn(pool);
    attempt_start(entry->attempt, pool->event, on_ended, entry);
    return r;
}

int probe_pool_new(sd_event *event, size_t attempts, ProbeInput input, void *userdata,
                   ProbePool **ret) {
    assert(attempts > 0);
    ProbePool *pool = malloc(sizeof *pool);
    if (!pool)
        return -ENOMEM;
    *pool = (ProbePool){
        .event = sd_event_ref(event),
        .limit = attempts,
        .input = input,
        .userdata = userdata,
    };
    TAILQ_INIT(&pool->waiting);
    TAILQ_INIT(&pool->running);

    int r = sd_event_add_defer(event, &pool->turn, on_turn, pool);
    if (r >= 0)
        r = update_turn(pool);
    if (r < 0) {
        probe_pool_free(pool);
        return r;
    }
    *ret = pool;
    return 0;
}

void probe_pool_free(ProbePool *pool) {
    if (!pool)
        return;
    tdestroy(pool->entries, entry_free);
    sd_event_source_disable_unref(pool->turn);
    sd_event_unref(pool->event);
    free(pool);
}

int probe_start(ProbePool *pool, uint64_t serial, const ProcessKey *key, const char *socket_hint) {
    _cleanup_(entry_freep) Entry *entry = malloc(sizeof *entry);
    if (!entry)
        return -ENOMEM;
    *entry = (Entry){.serial = serial, .pid = key->pid, .pool = pool};
    int r = attempt_new(serial, key, socket_hint, &entry->attempt);
    if (r < 0)
        return r;

    Entry **slot = tsearch(entry, &pool->entries, compare_entries);
    if (!slot)
        return -ENOMEM;
    assert(*slot == entry);
    TAILQ_INSERT_TAIL(&pool->waiting, entry, queue);
    pool->counters.waiting++;
    r = update_turn(pool);
    if (r < 0) {
        remove_entry(pool, entry);
        return r;
    }
    pool->counters.attempts++;
    TAKE_PTR(entry);
    return 0;
}

void probe_cancel(ProbePool *pool, uint64_t serial) {
    const Entry wanted = {.serial = serial};
    Entry **slot = tfind(&wanted, &pool->entries, compare_entries);
    if (!slot)
        return;
    Entry *entry = *slot;
    remove_entry(pool, entry);
    entry_free(entry);
}

const ProbeCounters *probe_counters(const ProbePool *pool) {
    return &pool->counters;
}
