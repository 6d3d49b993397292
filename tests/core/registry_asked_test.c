// Somebody asks about a process that could not be reached.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include "registry.h"
#include "rules.h"
#include "samples.h"

typedef struct Fixture {
    Registry *registry;
    Actions actions;
    uint64_t now;
} Fixture;

// With one life, of serial 1, that is being asked.
static int set_up(void **state) {
    static Fixture fixture;
    RegistryLimits limits = {.processes = 16, .processes_per_uid = 4};
    fixture = (Fixture){.now = T0};
    *state = &fixture;
    int r = registry_new(&limits, &fixture.registry);
    Input signal = {.kind = INPUT_SIGNAL, .signal = sample_signal(10, 5, 1)};
    return r < 0 ? r : registry_feed(fixture.registry, &signal, at(T0), &fixture.actions);
}

static int tear_down(void **state) {
    Fixture *f = *state;
    actions_done(&f->actions);
    registry_free(f->registry);
    return 0;
}

static void feed(Fixture *f, Input input) {
    actions_clear(&f->actions);
    assert_int_equal(registry_feed(f->registry, &input, at(f->now), &f->actions), 0);
}

static void feed_outcome(Fixture *f, Outcome outcome) {
    feed(f, (Input){.kind = INPUT_PROBED,
                    .probed = {.serial = 1, .outcome = outcome, .facts = facts_new()}});
}

static void ask(Fixture *f, uint64_t serial) {
    feed(f, (Input){.kind = INPUT_ASKED, .asked = serial});
}

static void assert_asks(const Fixture *f, bool expected) {
    assert_int_equal(f->actions.count, expected);
    if (expected)
        assert_int_equal(f->actions.items[0].kind, ACTION_PROBE);
}

static void a_question_leads_to_an_attempt(void **state) {
    Fixture *f = *state;
    f->now += 31 * SECOND;
    feed_outcome(f, OUTCOME_TIMEOUT);
    assert_true(registry_next_deadline(f->registry) == USEC_NEVER);
    assert_false(registry_is_probing(f->registry, 1));
    f->now += RULES_SIGNAL_PAUSE_US - 1;
    ask(f, 1); // too soon
    assert_asks(f, false);
    f->now++;
    ask(f, 1);
    assert_asks(f, true);
    assert_true(registry_is_probing(f->registry, 1));
    feed_outcome(f, OUTCOME_ANSWERED);
    assert_int_equal(registry_find(f->registry, 1)->traits.state, STATE_READY);
}

static void a_question_begins_no_further_course_of_attempts(void **state) {
    Fixture *f = *state;
    f->now += 31 * SECOND;
    feed_outcome(f, OUTCOME_TIMEOUT);
    f->now += RULES_SIGNAL_PAUSE_US;
    ask(f, 1);
    feed_outcome(f, OUTCOME_TIMEOUT);
    assert_true(registry_next_deadline(f->registry) == USEC_NEVER);
}

static void a_question_does_not_cost_the_attempts_that_are_due(void **state) {
    Fixture *f = *state;
    f->now += 2 * SECOND;
    feed_outcome(f, OUTCOME_TIMEOUT);
    assert_true(registry_next_deadline(f->registry) == T0 + 4 * SECOND);
    f->now += SECOND;
    ask(f, 1);
    assert_asks(f, true);
    feed_outcome(f, OUTCOME_TIMEOUT);
    assert_true(registry_next_deadline(f->registry) == T0 + 4 * SECOND);
}

static void nobody_is_asked_twice_at_a_time_or_again_once_ready(void **state) {
    Fixture *f = *state;
    f->now += 5 * SECOND;
    ask(f, 1); // it is being asked
    assert_asks(f, false);
    feed_outcome(f, OUTCOME_ANSWERED);
    f->now += 5 * SECOND;
    ask(f, 1);
    assert_asks(f, false);
    ask(f, 2); // there is none
    assert_asks(f, false);
    assert_false(registry_is_probing(f->registry, 2));
}

static void a_signal_during_the_last_attempt_is_not_lost(void **state) {
    Fixture *f = *state;
    const Outcome outcomes[] = {OUTCOME_NO_SOCKET, OUTCOME_TIMEOUT};
    for (size_t i = 0; i < 2; i++) {
        f->now += 31 * SECOND;
        feed_outcome(f, outcomes[i]);
        assert_true(registry_next_deadline(f->registry) == USEC_NEVER);
        f->now += RULES_SIGNAL_PAUSE_US;
        ask(f, 1);
        // It listens right after the attempt has looked for a socket.
        feed(f, (Input){.kind = INPUT_SIGNAL, .signal = sample_signal(10, 5, 1)});
        assert_asks(f, false);
        feed_outcome(f, outcomes[i]);
        assert_asks(f, false);
        assert_true(registry_next_deadline(f->registry) == f->now + RULES_SIGNAL_PAUSE_US);
        f->now += RULES_SIGNAL_PAUSE_US;
        feed(f, (Input){.kind = INPUT_TIMER});
        assert_asks(f, true);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_question_leads_to_an_attempt),
        TEST(a_question_begins_no_further_course_of_attempts),
        TEST(a_question_does_not_cost_the_attempts_that_are_due),
        TEST(nobody_is_asked_twice_at_a_time_or_again_once_ready),
        TEST(a_signal_during_the_last_attempt_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
