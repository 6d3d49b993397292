// The pool: attempts by serial, and those that wait for a place in a queue for each uid. The queues
// take turns, and a uid has only a part of the places: silent processes, however many, keep waiting
// nobody but their own user. What finds a place is started at once, on a thread that works while
// the loop goes on; what waits is started from the loop, one a turn, so that a burst of them delays
// nothing else for long. Two attempts at one process, which happens when a client has it checked,
// come one after the other.
// SPDX-License-Identifier: MIT
#include "probe.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "attempt.h"
#include "bounds.h"
#include "cleanup.h"

// What processes of one uid have in the pool.
typedef struct Lane {
    uid_t uid;
    size_t in_flight;
    TAILQ_HEAD(, Entry) waiting;
    TAILQ_ENTRY(Lane) turn; // pool::lanes, while something waits in it
} Lane;

typedef struct Entry {
    uint64_t serial;
    Attempt *attempt; // owned
    pid_t pid;
    ProbePool *pool;          // borrowed
    Lane *lane;               // borrowed
    TAILQ_ENTRY(Entry) queue; // lane::waiting, then pool::running
} Entry;

struct ProbePool {
    sd_event *event;  // referenced
    Workers *workers; // owned
    size_t limit;
    size_t uid_limit; // of a uid other than 0
    ProbeInput input;
    void *userdata;
    void *entries; // owned, by serial, tsearch(3)
    TAILQ_HEAD(, Entry) running;
    void *lanes_by_uid;       // owned, those with an entry, tsearch(3)
    TAILQ_HEAD(, Lane) lanes; // those with an entry that waits, in the order of their turns
    sd_event_source *turn;    // owned; enabled while one waits that can be started
    ProbeCounters counters;
};

static int compare_entries(const void *left, const void *right) {
    const Entry *l = left, *r = right;
    return (l->serial > r->serial) - (l->serial < r->serial);
}

static int compare_lanes(const void *left, const void *right) {
    const Lane *l = left, *r = right;
    return (l->uid > r->uid) - (l->uid < r->uid);
}

// The lane of this uid, a new one where it has none; NULL when out of memory.
static Lane *lane_of(ProbePool *pool, uid_t uid) {
    const Lane key = {.uid = uid};
    Lane **slot = tfind(&key, &pool->lanes_by_uid, compare_lanes);
    if (slot)
        return *slot;
    Lane *lane = malloc(sizeof *lane);
    if (!lane)
        return NULL;
    *lane = (Lane){.uid = uid};
    TAILQ_INIT(&lane->waiting);
    if (tsearch(lane, &pool->lanes_by_uid, compare_lanes))
        return lane;
    free(lane);
    return NULL;
}

static void lane_drop_empty(ProbePool *pool, Lane *lane) {
    if (lane->in_flight > 0 || !TAILQ_EMPTY(&lane->waiting))
        return;
    tdelete(lane, &pool->lanes_by_uid, compare_lanes);
    free(lane);
}

static void begin_waiting(ProbePool *pool, Entry *entry) {
    if (TAILQ_EMPTY(&entry->lane->waiting))
        TAILQ_INSERT_TAIL(&pool->lanes, entry->lane, turn);
    TAILQ_INSERT_TAIL(&entry->lane->waiting, entry, queue);
    pool->counters.waiting++;
}

static void end_waiting(ProbePool *pool, Entry *entry) {
    TAILQ_REMOVE(&entry->lane->waiting, entry, queue);
    if (TAILQ_EMPTY(&entry->lane->waiting))
        TAILQ_REMOVE(&pool->lanes, entry->lane, turn);
    pool->counters.waiting--;
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

// In the lane whose turn it is the one that waits longest, of those that can be started; NULL where
// none can.
static Entry *next_entry(const ProbePool *pool) {
    if (pool->counters.in_flight >= pool->limit)
        return NULL;
    const Lane *lane;
    TAILQ_FOREACH(lane, &pool->lanes, turn) {
        if (lane->uid != 0 && lane->in_flight >= pool->uid_limit)
            continue;
        Entry *entry;
        TAILQ_FOREACH(entry, &lane->waiting, queue) {
            if (!is_being_asked(pool, entry->pid))
                return entry;
        }
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
        entry->lane->in_flight--;
    } else {
        end_waiting(pool, entry);
    }
    lane_drop_empty(pool, entry->lane);
    // Cannot fail: the source was enabled before, so the loop has the memory it takes.
    (void)update_turn(pool);
}

static void count(ProbeCounters *counters, const Input *input) {
    const char *detail = input->probed.detail;
    bool made = input->probed.outcome != OUTCOME_NOT_TRIED;
    bool answered = input->probed.outcome == OUTCOME_ANSWERED;
    counters->answered += answered;
    counters->failed += !answered;
    counters->not_made += !made;
    snprintf(counters->lack, sizeof counters->lack, "%s",
             made     ? ""
             : detail ? detail
                      : "out of memory");
}

static void on_ended(void *userdata, Attempt *attempt) {
    Entry *entry = userdata;
    ProbePool *pool = entry->pool;
    ProbeInput deliver = pool->input;
    void *deliver_userdata = pool->userdata;

    Input input = attempt_take_input(attempt);
    count(&pool->counters, &input);
    remove_entry(pool, entry);
    entry_free(entry);
    // Last, since it may start, cancel or free anything.
    deliver(deliver_userdata, &input);
}

static int start(ProbePool *pool, Entry *entry) {
    end_waiting(pool, entry);
    if (!TAILQ_EMPTY(&entry->lane->waiting)) {
        TAILQ_REMOVE(&pool->lanes, entry->lane, turn);
        TAILQ_INSERT_TAIL(&pool->lanes, entry->lane, turn);
    }
    TAILQ_INSERT_TAIL(&pool->running, entry, queue);
    pool->counters.in_flight++;
    entry->lane->in_flight++;
    return attempt_start(entry->attempt, pool->event, pool->workers, on_ended, entry);
}

static int on_turn(sd_event_source *source, void *userdata) {
    ProbePool *pool = userdata;
    Entry *entry = next_entry(pool);
    (void)source;
    assert(entry);

    int r = start(pool, entry);
    int turn = update_turn(pool);
    if (r < 0)
        attempt_fail(entry->attempt, r);
    return turn;
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
        .uid_limit = attempts < BOUND_UID_DIVISOR ? 1 : attempts / BOUND_UID_DIVISOR,
        .input = input,
        .userdata = userdata,
    };
    TAILQ_INIT(&pool->running);
    TAILQ_INIT(&pool->lanes);

    int r = workers_new(event, &pool->workers);
    if (r >= 0)
        r = sd_event_add_defer(event, &pool->turn, on_turn, pool);
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
    tdestroy(pool->lanes_by_uid, free);
    workers_free(pool->workers);
    sd_event_source_disable_unref(pool->turn);
    sd_event_unref(pool->event);
    free(pool);
}

int probe_start(ProbePool *pool, uint64_t serial, const ProbeTarget *target) {
    _cleanup_(entry_freep) Entry *entry = malloc(sizeof *entry);
    if (!entry)
        return -ENOMEM;
    *entry = (Entry){.serial = serial, .pid = target->key.pid, .pool = pool};
    int r = attempt_new(serial, target, &entry->attempt);
    if (r < 0)
        return r;

    Entry **slot = tsearch(entry, &pool->entries, compare_entries);
    if (!slot)
        return -ENOMEM;
    assert(*slot == entry);
    entry->lane = lane_of(pool, target->uid);
    if (!entry->lane) {
        tdelete(entry, &pool->entries, compare_entries);
        return -ENOMEM;
    }
    begin_waiting(pool, entry);
    r = next_entry(pool) == entry ? start(pool, entry) : 0;
    if (r >= 0)
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

const ProbeCounters *probe_counters(ProbePool *pool) {
    pool->counters.stuck = workers_stuck(pool->workers);
    return &pool->counters;
}
