// The registry: takes inputs, changes lives by the rules, lists what is to be done. The room for
// that list is reserved before the first change, so that no change is ever left out of it. To begin
// a life can fail for lack of memory, to end one cannot.
// SPDX-License-Identifier: MIT
#include "registry.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "cleanup.h"
#include "lives.h"
#include "macro.h"
#include "quota.h"
#include "rules.h"

// What is still on its way about a life that has ended comes too late.
typedef struct Grave {
    ProcessKey key;
    char socket_path[SOCKET_PATH_SIZE]; // that alone comes too late which names it; "": all does
    bool lives_on; // the process does, and what it runs next looks the same: nothing is too late
} Grave;

struct Registry {
    Lives lives;
    Quota quota;
    Deadlines deadlines;
    uint64_t last_serial;
    uint64_t sequence;
    uint64_t in_state[STATE_COUNT_]; // lives; STATE_GONE: those that ended
    RegistryCounters counters;
    bool missed; // a life could not be followed, and none has made room by its end since
    Grave graveyard[BOUND_GRAVEYARD]; // of the lives ended last, a ring
    size_t buried;
};

// The most that one life can ask for at once: a life that ends (publish, unfollow, cancel, rescan)
// and one that begins in its place (follow, probe, publish).
enum { ACTIONS_PER_LIFE = 8 };

int registry_new(const RegistryLimits *limits, Registry **ret) {
    Registry *registry = calloc(1, sizeof *registry);
    if (!registry)
        return -ENOMEM;
    registry->quota.total_limit = limits->processes;
    registry->quota.uid_limit = limits->processes_per_uid;
    *ret = registry;
    return 0;
}

void registry_free(Registry *registry) {
    if (!registry)
        return;
    uint64_t serial = 0; // not from the front, where each that is removed leaves a hole
    for (Life *life; (life = lives_next(&registry->lives, serial));) {
        serial = life->process.serial;
        lives_remove(&registry->lives, life);
        deadlines_remove(&registry->deadlines, &life->deadline);
        quota_release(&registry->quota, life->charged_uid);
        life_free(life);
    }
    lives_done(&registry->lives);
    deadlines_done(&registry->deadlines);
    quota_done(&registry->quota);
    free(registry);
}

static void publish(Registry *registry, Life *life, const Traits *before, Actions *actions) {
    life->process.sequence = ++registry->sequence;
    Action *action = actions_add(actions, ACTION_PUBLISH, life->process.serial, &life->process.key);
    action->process = &life->process;
    registry->in_state[life->process.traits.state]++;
    if (before) {
        registry->in_state[before->state]--;
        action->has_before = true;
        action->before = *before;
    }
}

static void probe(Registry *registry, Life *life, Actions *actions) {
    life->probing = true;
    life->signalled_again = false;
    life->told_more = false;
    deadlines_remove(&registry->deadlines, &life->deadline);
    actions_add(actions, ACTION_PROBE, life->process.serial, &life->process.key);
}

static Grave *bury(Registry *registry, const ProcessKey *key) {
    Grave *grave = &registry->graveyard[registry->buried++ % BOUND_GRAVEYARD];
    *grave = (Grave){.key = *key};
    return grave;
}

static bool is_buried(const Registry *registry, const ProcessKey *key, const char *socket_path) {
    size_t count = registry->buried < BOUND_GRAVEYARD ? registry->buried : BOUND_GRAVEYARD;
    for (size_t i = 0; i < count; i++) {
        const Grave *grave = &registry->graveyard[i];
        if (!grave->lives_on && grave->key.pid == key->pid &&
            grave->key.start_ticks == key->start_ticks &&
            grave->key.exec_count == key->exec_count &&
            (grave->socket_path[0] == '\0' || strcmp(grave->socket_path, socket_path) == 0))
            return true;
    }
    return false;
}

// Whether a life of unknown exec count has been told as gone that looked as one with this key does.
static bool was_told(const Registry *registry, const ProcessKey *key) {
    size_t count = registry->buried < BOUND_GRAVEYARD ? registry->buried : BOUND_GRAVEYARD;
    for (size_t i = 0; key->exec_count == EXEC_COUNT_UNKNOWN && i < count; i++) {
        const ProcessKey *told = &registry->graveyard[i].key;
        if (told->pid == key->pid && told->start_ticks == key->start_ticks &&
            told->exec_count == EXEC_COUNT_UNKNOWN)
            return true;
    }
    return false;
}

static void end_life(Registry *registry, Life *life, bool not_followed, Actions *actions) {
    Traits before = life->process.traits;
    life->process.traits.state = STATE_GONE;
    life->process.reason = REASON_NONE;
    free(life->process.detail);
    life->process.detail = NULL;
    publish(registry, life, &before, actions);
    if (life->probing)
        actions_add(actions, ACTION_CANCEL, life->process.serial, &life->process.key);
    actions_add(actions, ACTION_UNFOLLOW, life->process.serial, &life->process.key);

    deadlines_remove(&registry->deadlines, &life->deadline);
    lives_remove(&registry->lives, life);
    bool room = quota_release(&registry->quota, life->charged_uid);
    // One that was not followed gave nothing back: to scan for it at once would find it, and fail
    // to follow it, again and again.
    if (room || (registry->missed && !not_followed)) {
        actions_add(actions, ACTION_RESCAN, 0, &(ProcessKey){0});
        registry->missed = false;
    }
    registry->missed |= not_followed;
    actions->ended[actions->ended_count++] = life;
}

static int begin_life(Registry *registry, const Signal *signal, Actions *actions) {
    int r = deadlines_reserve(&registry->deadlines, registry->lives.alive + 1);
    if (r < 0)
        return r;
    r = quota_charge(&registry->quota, signal->uid);
    if (r < 0)
        return r;
    if (r != QUOTA_OK) {
        if (r == QUOTA_FULL)
            registry->counters.refused_full++;
        else
            registry->counters.refused_quota++;
        actions_add(actions, ACTION_DISREGARD, 0, &signal->key);
        return 0;
    }

    Life *life = life_new(registry->last_serial + 1, signal);
    r = life ? lives_add(&registry->lives, life) : -ENOMEM;
    if (r < 0) {
        quota_release(&registry->quota, signal->uid);
        life_free(life);
        return r;
    }
    registry->last_serial++;
    if (was_told(registry, &signal->key))
        life->process.id_again = life->process.serial;
    // The attempt is under way while the others are told.
    actions_add(actions, ACTION_FOLLOW, life->process.serial, &life->process.key);
    probe(registry, life, actions);
    publish(registry, life, NULL, actions);
    return 0;
}

// A second signal of the same life: may add what was unknown, and is a reason to try again what
// failed; at once where it added something and the process was left untouched (a runtime listens,
// and maps a moment later), else not sooner than a pause after the last attempt.
static void merge_signal(Registry *registry, Life *life, const Signal *signal, Instant now,
                         Actions *actions) {
    Traits before = life->process.traits;
    LifeNews news = life_merge(life, signal);
    if (news == LIFE_NEWS_NOW)
        publish(registry, life, &before, actions);
    if (life->process.traits.state == STATE_READY)
        return;
    if (life->probing) {
        life->signalled_again = true;
        life->told_more |= news != LIFE_NEWS_NONE;
        return;
    }
    uint64_t due_us = life->attempted_us + RULES_SIGNAL_PAUSE_US;
    if ((news != LIFE_NEWS_NONE && !life->patient) || due_us <= now.boottime_us) {
        life->window_us = now.boottime_us;
        probe(registry, life, actions);
    } else if (life->deadline.place == 0 || life->deadline.when_us > due_us) {
        life->window_us = now.boottime_us;
        deadlines_set(&registry->deadlines, &life->deadline, due_us);
    }
}

static int feed_signal(Registry *registry, const Signal *signal, Instant now, Actions *actions) {
    Life *life = lives_find_pid(&registry->lives, signal->key.pid);
    LifeRelation relation = life ? life_compare(&life->process.key, &signal->key) : LIFE_NEWER;
    if (relation == LIFE_OLDER ||
        (relation == LIFE_NEWER && is_buried(registry, &signal->key, signal->socket_path))) {
        registry->counters.signals_stale++;
        return 0;
    }

    registry->counters.signals++;
    if (relation == LIFE_SAME) {
        merge_signal(registry, life, signal, now, actions);
        return 0;
    }
    if (life) {
        bury(registry, &life->process.key);
        end_life(registry, life, false, actions);
    }
    return begin_life(registry, signal, actions);
}

// What a scan saw of the program before may be read after the record of its end.
static void bury_unknown(Registry *registry, const ProcessKey *key) {
    if (key->exec_count == 0 || key->exec_count == EXEC_COUNT_UNKNOWN)
        return;
    ProcessKey before = *key;
    before.exec_count--;
    if (!is_buried(registry, &before, ""))
        bury(registry, &before);
}

static void feed_exec(Registry *registry, const ProcessKey *key, Actions *actions) {
    Life *life = lives_find_pid(&registry->lives, key->pid);
    if (!life || life->process.key.start_ticks != key->start_ticks) {
        bury_unknown(registry, key);
        return;
    }
    uint64_t known = life->process.key.exec_count;
    if (known != EXEC_COUNT_UNKNOWN && known >= key->exec_count)
        return;
    registry->counters.execs++;
    bury(registry, &life->process.key)->lives_on = known == EXEC_COUNT_UNKNOWN;
    end_life(registry, life, false, actions);
}

static void feed_exit(Registry *registry, uint64_t serial, bool not_followed, Actions *actions) {
    Life *life = lives_find(&registry->lives, serial);
    if (!life)
        return;
    // What was not followed may live: whatever tells of it next begins it again.
    if (!not_followed)
        bury(registry, &life->process.key);
    end_life(registry, life, not_followed, actions);
}

static void take_facts(Life *life, Facts *facts, Actions *actions) {
    Process *process = &life->process;
    if (life->facts)
        actions->replaced[actions->replaced_count++] = life->facts;
    life->facts = facts;
    process->traits.facts = facts;
    memcpy(process->traits.command, facts->command, COMMAND_SIZE);
    if (facts->uid != UID_UNKNOWN) {
        process->traits.uid = facts->uid;
        process->gid = facts->gid;
    }
    if (facts->namespace_pid != 0)
        process->namespace_pid = facts->namespace_pid;
    if (process->protection == PROTECTION_UNKNOWN)
        process->protection = facts->protection;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

// Changes the life as the outcome says and tells of it where there is something to tell.
static void apply_outcome(Registry *registry, Life *life, Input *input, Instant now,
                          Actions *actions) {
    Process *process = &life->process;
    Outcome outcome = input->probed.outcome;
    bool first_second = now.boottime_us < process->detected.boottime_us + RULES_FIRST_SECOND_US;
    Reason reason;
    State state = rules_next_state(process->traits.state, outcome, first_second, &reason);
    // An outcome that says nothing of the port leaves the reason of the one before.
    if (state == STATE_UNREACHABLE && reason == REASON_NONE)
        return;
    if (state == process->traits.state && reason == process->reason &&
        (state == STATE_DETECTED || same_text(process->detail, input->probed.detail)))
        return;

    Traits before = process->traits;
    process->traits.state = state;
    process->reason = reason;
    free(process->detail);
    process->detail = state == STATE_UNREACHABLE ? TAKE_PTR(input->probed.detail) : NULL;
    if (state == STATE_READY)
        process->ready = now;
    if (input->probed.facts)
        take_facts(life, TAKE_PTR(input->probed.facts), actions);
    publish(registry, life, &before, actions);
}

// Whether an attempt's outcome ends the life; sees to what may come of it still.
static bool is_over(Registry *registry, const Life *life, Outcome outcome) {
    const Process *process = &life->process;
    // What was followed may be a later process with the pid, whose exit would not be this life's.
    if (outcome == OUTCOME_VANISHED) {
        registry->counters.vanished++;
        // Of unknown exec count it may have called execve.
        bury(registry, &process->key)->lives_on = process->key.exec_count == EXEC_COUNT_UNKNOWN;
        return true;
    }
    // A scan without the kernel's help can take an inheritor of a socket for its owner. It would at
    // each scan; but what the process runs after an execve listens at a socket of its own.
    if (outcome == OUTCOME_NOT_OWNER && !life->named_by_kernel) {
        registry->counters.dropped_owners++;
        memcpy(bury(registry, &process->key)->socket_path, process->socket_hint, SOCKET_PATH_SIZE);
        return true;
    }
    return false;
}

static void feed_probed(Registry *registry, Input *input, Instant now, Actions *actions) {
    Life *life = lives_find(&registry->lives, input->probed.serial);
    if (!life)
        return;
    Outcome outcome = input->probed.outcome;
    life->probing = false;
    life->patient = rules_is_patient(outcome);
    life->attempted_us = now.boottime_us;

    if (is_over(registry, life, outcome)) {
        end_life(registry, life, false, actions);
        return;
    }

    apply_outcome(registry, life, input, now, actions);
    if (life->process.traits.state == STATE_READY)
        return;
    if (life->told_more && !life->patient) {
        life->window_us = now.boottime_us;
        probe(registry, life, actions);
        return;
    }
    uint64_t due_us = rules_next_attempt(outcome, life->window_us, now.boottime_us);
    // What was signalled may have come too late for this attempt, which may have been the last.
    uint64_t pause_end_us = now.boottime_us + RULES_SIGNAL_PAUSE_US;
    if (life->signalled_again && due_us > pause_end_us) {
        life->window_us = now.boottime_us;
        due_us = pause_end_us;
    }
    if (due_us != USEC_NEVER)
        deadlines_set(&registry->deadlines, &life->deadline, due_us);
}

// Retries end, and no event tells that a stopped process goes on or that a permission was given: so
// a question about one that could not be reached is a reason to try once more. It begins no new
// course of retries, and comes no sooner than a signal's.
static void feed_asked(Registry *registry, uint64_t serial, Instant now, Actions *actions) {
    Life *life = lives_find(&registry->lives, serial);
    if (life && life->process.traits.state == STATE_UNREACHABLE && !life->probing &&
        life->attempted_us + RULES_SIGNAL_PAUSE_US <= now.boottime_us)
        probe(registry, life, actions);
}

static int feed_timer(Registry *registry, Instant now, Actions *actions) {
    int r = actions_reserve(actions, BOUND_TIMERS_PER_TURN, 0, 0);
    if (r < 0)
        return r;
    // What is due beyond the bound stays due: the next deadline is then in the past.
    for (size_t i = 0; i < BOUND_TIMERS_PER_TURN; i++) {
        Deadline *first = deadlines_first(&registry->deadlines);
        if (!first || first->when_us > now.boottime_us)
            return 0;
        probe(registry, CONTAINER_OF(first, Life, deadline), actions);
    }
    return 0;
}

int registry_feed(Registry *registry, Input *input, Instant now, Actions *actions) {
    int r = actions_reserve(actions, ACTIONS_PER_LIFE, 1, 1);
    if (r == 0) {
        switch (input->kind) {
        case INPUT_SIGNAL:
            r = feed_signal(registry, &input->signal, now, actions);
            break;
        case INPUT_EXEC:
            feed_exec(registry, &input->exec, actions);
            break;
        case INPUT_EXIT:
            feed_exit(registry, input->exit.serial, input->exit.not_followed, actions);
            break;
        case INPUT_PROBED:
            feed_probed(registry, input, now, actions);
            break;
        case INPUT_ASKED:
            feed_asked(registry, input->asked, now, actions);
            break;
        case INPUT_TIMER:
            r = feed_timer(registry, now, actions);
            break;
        }
    }
    input_done(input);
    return r;
}

uint64_t registry_next_deadline(const Registry *registry) {
    const Deadline *first = deadlines_first(&registry->deadlines);
    return first ? first->when_us : USEC_NEVER;
}

static const Process *process_of(const Life *life) {
    return life ? &life->process : NULL;
}

const Process *registry_find(const Registry *registry, uint64_t serial) {
    return process_of(lives_find(&registry->lives, serial));
}

const Process *registry_find_pid(const Registry *registry, pid_t pid) {
    return process_of(lives_find_pid(&registry->lives, pid));
}

const Process *registry_next(const Registry *registry, uint64_t serial) {
    return process_of(lives_next(&registry->lives, serial));
}

bool registry_is_probing(const Registry *registry, uint64_t serial) {
    const Life *life = lives_find(&registry->lives, serial);
    return life && life->probing;
}

size_t registry_count(const Registry *registry) {
    return registry->lives.alive;
}

uint64_t registry_count_in(const Registry *registry, State state) {
    return registry->in_state[state];
}

uint64_t registry_last_serial(const Registry *registry) {
    return registry->last_serial;
}

uint64_t registry_sequence(const Registry *registry) {
    return registry->sequence;
}

bool registry_overflowed(const Registry *registry) {
    return quota_overflowed(&registry->quota);
}

const RegistryCounters *registry_counters(const Registry *registry) {
    return &registry->counters;
}
