// The two signals of a runtime's start: it listens, and a moment later it maps.
// SPDX-License-Identifier: MIT
#include "registry_fixture.h"

static Signal listen_signal(void) {
    Signal signal = sample_signal(10, 5, 1);
    signal.kind = SIGNAL_LISTEN;
    signal.protection = PROTECTION_UNKNOWN;
    return signal;
}

static void a_listen_and_the_mapping_after_it_are_one_process(void **state) {
    Fixture *f = *state;
    feed_signal(f, listen_signal());
    assert_actions(f, "follow probe publish");
    assert_int_equal(f->actions.items[2].process->protection, PROTECTION_UNKNOWN);
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "");
    feed_probed(f, 1, OUTCOME_ANSWERED, NULL);
    assert_actions(f, "publish");
    const Process *process = f->actions.items[0].process;
    assert_int_equal(process->signal, SIGNAL_LISTEN);
    assert_int_equal(process->protection, 0);
    assert_int_equal(process->sequence, 2);
    feed_signal(f, listen_signal());
    assert_actions(f, "");
    assert_int_equal(registry_count(f->registry), 1);
}

// The attempt at a listen was too early: the next is a millisecond away, or the mapping.
static void a_mapping_after_a_listen_in_vain_leads_to_an_attempt_at_once(void **state) {
    Fixture *f = *state;
    feed_signal(f, listen_signal());
    f->now += 200;
    feed_probed(f, 1, OUTCOME_REFUSED, "ECONNREFUSED");
    assert_actions(f, "");
    assert_state(f, 10, STATE_DETECTED, REASON_NONE);
    assert_int_equal(registry_next_deadline(f->registry), T0 + USEC_PER_MSEC);
    f->now += 10;
    feed_signal(f, listen_signal()); // adds nothing, and does not put the next one off
    assert_actions(f, "");
    assert_int_equal(registry_next_deadline(f->registry), T0 + USEC_PER_MSEC);
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "probe");
}

// Who was asked and did not answer is not asked again for a mapping that was to be expected.
static void a_mapping_after_a_listen_asks_nobody_twice(void **state) {
    Fixture *f = *state;
    feed_signal(f, listen_signal());
    feed_signal(f, sample_signal(10, 5, 1));
    feed_probed(f, 1, OUTCOME_HUNG_UP, "EPIPE");
    assert_actions(f, "");
    assert_int_equal(registry_next_deadline(f->registry), T0 + SECOND);

    Signal other = listen_signal(), mapping = sample_signal(11, 5, 1);
    other.key.pid = 11;
    feed_signal(f, other);
    feed_probed(f, 2, OUTCOME_TIMEOUT, "silent");
    assert_actions(f, "publish");
    feed_signal(f, mapping);
    assert_actions(f, "publish");
    assert_int_equal(registry_next_deadline(f->registry), T0 + SECOND);
}

static void a_mapping_that_is_told_after_the_answer_is_a_change(void **state) {
    Fixture *f = *state;
    feed_signal(f, listen_signal());
    feed_probed(f, 1, OUTCOME_ANSWERED, NULL);
    feed_signal(f, sample_signal(10, 5, 1));
    assert_actions(f, "publish");
    assert_int_equal(f->actions.items[0].before.state, STATE_READY);
    assert_int_equal(f->actions.items[0].process->protection, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_listen_and_the_mapping_after_it_are_one_process),
        TEST(a_mapping_after_a_listen_in_vain_leads_to_an_attempt_at_once),
        TEST(a_mapping_after_a_listen_asks_nobody_twice),
        TEST(a_mapping_that_is_told_after_the_answer_is_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
