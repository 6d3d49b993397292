// The tables. Moments of attempts are given from the signal on, not from attempt to attempt, so
// that the whole course can be read off here and ends when it says.
// SPDX-License-Identifier: MIT
#include "rules.h"

#include <assert.h>

#include "macro.h"

typedef struct Course {
    const uint32_t *at_ms;
    size_t count;
} Course;

// Nothing of the process was touched: dense at first, since a socket that is about to be listened
// at is 0.15 ms away from working at most; one attempt falls on the end of the first second.
static const uint32_t untouched_ms[] = {1,   3,    8,    18,   38,   88,    188,
                                        388, 1000, 2000, 4000, 8000, 16000, 30000};
// The process had a connection, or it takes an administrator to change the outcome.
static const uint32_t touched_ms[] = {1000, 2000, 4000, 8000, 16000, 30000};

#define COURSE(table) \
    { table, ELEMENTS_OF(table) }
static const Course untouched = COURSE(untouched_ms);
static const Course touched = COURSE(touched_ms);

typedef enum Verdict {
    VERDICT_ANSWERED,
    VERDICT_NOTHING, // says nothing about the port
    VERDICT_EARLY,   // may pass by itself during the first second
    VERDICT_FAILED,
    VERDICT_COUNT_,
} Verdict;

typedef struct Rule {
    Verdict verdict;
    Reason reason;
    const Course *course; // NULL: no further attempt, or one that does not count
} Rule;

static const Rule rules[] = {
    [OUTCOME_ANSWERED] = {VERDICT_ANSWERED, REASON_NONE, NULL},
    [OUTCOME_NO_SOCKET] = {VERDICT_EARLY, REASON_NO_SOCKET, &untouched},
    [OUTCOME_REFUSED] = {VERDICT_EARLY, REASON_REFUSED, &untouched},
    // So looks a port that is going, in a process that exits or calls execve; but it was touched.
    [OUTCOME_HUNG_UP] = {VERDICT_EARLY, REASON_REFUSED, &touched},
    [OUTCOME_PERMISSION_DENIED] = {VERDICT_FAILED, REASON_PERMISSION_DENIED, &touched},
    [OUTCOME_TIMEOUT] = {VERDICT_FAILED, REASON_TIMEOUT, &touched},
    [OUTCOME_NOT_OWNER] = {VERDICT_FAILED, REASON_NOT_OWNER, &touched},
    [OUTCOME_PROTOCOL_ERROR] = {VERDICT_FAILED, REASON_PROTOCOL_ERROR, &touched},
    [OUTCOME_NOT_TRIED] = {VERDICT_NOTHING, REASON_NONE, NULL},
};
_Static_assert(ELEMENTS_OF(rules) == OUTCOME_COUNT_, "an outcome has no rule");

static const State transitions[][VERDICT_COUNT_] = {
    [STATE_DETECTED] = {[VERDICT_ANSWERED] = STATE_READY,
                        [VERDICT_NOTHING] = STATE_DETECTED,
                        [VERDICT_EARLY] = STATE_DETECTED,
                        [VERDICT_FAILED] = STATE_UNREACHABLE},
    [STATE_UNREACHABLE] = {[VERDICT_ANSWERED] = STATE_READY,
                           [VERDICT_NOTHING] = STATE_UNREACHABLE,
                           [VERDICT_EARLY] = STATE_UNREACHABLE,
                           [VERDICT_FAILED] = STATE_UNREACHABLE},
};

State rules_next_state(State state, Outcome outcome, bool first_second, Reason *ret_reason) {
    const Rule *rule = &rules[outcome];
    Verdict verdict = rule->verdict;
    if (verdict == VERDICT_EARLY && !first_second)
        verdict = VERDICT_FAILED;
    assert(outcome != OUTCOME_VANISHED && (state == STATE_DETECTED || state == STATE_UNREACHABLE));
    State next = transitions[state][verdict];
    *ret_reason = next == STATE_UNREACHABLE ? rule->reason : REASON_NONE;
    return next;
}

bool rules_is_patient(Outcome outcome) {
    return rules[outcome].course == &touched;
}

uint64_t rules_next_attempt(Outcome outcome, uint64_t window_us, uint64_t now_us) {
    // The daemon's own shortage says nothing about the process and does not use up its attempts.
    if (outcome == OUTCOME_NOT_TRIED)
        return now_us + USEC_PER_SEC;
    const Course *course = rules[outcome].course;
    assert(course);
    for (size_t i = 0; i < course->count; i++) {
        uint64_t at_us = window_us + course->at_ms[i] * USEC_PER_MSEC;
        if (at_us > now_us)
            return at_us;
    }
    return USEC_NEVER;
}
