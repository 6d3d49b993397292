// The promises of the interface about states and retries, asked of the tables.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include "rules.h"
#include "samples.h"

#define DETECTED STATE_DETECTED
#define READY STATE_READY
#define UNREACHABLE STATE_UNREACHABLE

static void outcomes_make_states(void **state) {
    (void)state;
    static const struct {
        State from;
        Outcome outcome;
        bool first_second;
        State to;
        Reason reason;
    } cases[] = {
        {DETECTED, OUTCOME_ANSWERED, true, READY, REASON_NONE},
        {DETECTED, OUTCOME_ANSWERED, false, READY, REASON_NONE},
        {DETECTED, OUTCOME_NO_SOCKET, true, DETECTED, REASON_NONE},
        {DETECTED, OUTCOME_REFUSED, true, DETECTED, REASON_NONE},
        {DETECTED, OUTCOME_NO_SOCKET, false, UNREACHABLE, REASON_NO_SOCKET},
        {DETECTED, OUTCOME_REFUSED, false, UNREACHABLE, REASON_REFUSED},
        {DETECTED, OUTCOME_HUNG_UP, true, DETECTED, REASON_NONE},
        {DETECTED, OUTCOME_HUNG_UP, false, UNREACHABLE, REASON_REFUSED},
        {DETECTED, OUTCOME_PERMISSION_DENIED, true, UNREACHABLE, REASON_PERMISSION_DENIED},
        {DETECTED, OUTCOME_TIMEOUT, true, UNREACHABLE, REASON_TIMEOUT},
        {DETECTED, OUTCOME_NOT_OWNER, true, UNREACHABLE, REASON_NOT_OWNER},
        {DETECTED, OUTCOME_PROTOCOL_ERROR, true, UNREACHABLE, REASON_PROTOCOL_ERROR},
        {DETECTED, OUTCOME_NOT_TRIED, false, DETECTED, REASON_NONE},
        {UNREACHABLE, OUTCOME_ANSWERED, false, READY, REASON_NONE},
        {UNREACHABLE, OUTCOME_REFUSED, false, UNREACHABLE, REASON_REFUSED},
        {UNREACHABLE, OUTCOME_REFUSED, true, UNREACHABLE, REASON_REFUSED},
        {UNREACHABLE, OUTCOME_NOT_TRIED, false, UNREACHABLE, REASON_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Reason reason = REASON_COUNT_;
        assert_int_equal(
            rules_next_state(cases[i].from, cases[i].outcome, cases[i].first_second, &reason),
            cases[i].to);
        assert_int_equal(reason, cases[i].reason);
    }
}

// Attempts that end at once, from the signal on.
static void retries_back_off_and_end_after_thirty_seconds(void **state) {
    (void)state;
    for (Outcome outcome = OUTCOME_NO_SOCKET; outcome < OUTCOME_VANISHED; outcome++) {
        uint64_t now = T0, pause = 0;
        bool at_first_second = false;
        for (uint64_t next; (next = rules_next_attempt(outcome, T0, now)) != USEC_NEVER;) {
            assert_true(next > now);
            assert_true(next - now >= pause);
            pause = next - now;
            at_first_second |= next == T0 + SECOND;
            now = next;
        }
        assert_int_equal(now, T0 + 30 * SECOND);
        assert_true(at_first_second);
    }
    assert_int_equal(rules_next_attempt(OUTCOME_NOT_TRIED, T0, T0 + 60 * SECOND), T0 + 61 * SECOND);
}

static void a_touched_process_is_left_alone_for_a_second(void **state) {
    (void)state;
    assert_int_equal(rules_next_attempt(OUTCOME_PROTOCOL_ERROR, T0, T0 + 1), T0 + SECOND);
    assert_int_equal(rules_next_attempt(OUTCOME_HUNG_UP, T0, T0 + 1), T0 + SECOND);
    assert_int_equal(rules_next_attempt(OUTCOME_TIMEOUT, T0, T0 + 2 * SECOND), T0 + 4 * SECOND);
    assert_int_equal(rules_next_attempt(OUTCOME_REFUSED, T0, T0 + 100), T0 + 1000);
    assert_true(rules_is_patient(OUTCOME_HUNG_UP) && rules_is_patient(OUTCOME_TIMEOUT));
    assert_false(rules_is_patient(OUTCOME_REFUSED) || rules_is_patient(OUTCOME_NOT_TRIED));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_make_states),
        cmocka_unit_test(retries_back_off_and_end_after_thirty_seconds),
        cmocka_unit_test(a_touched_process_is_left_alone_for_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
