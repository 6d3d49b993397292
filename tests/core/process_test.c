// The words of the public interface.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <errno.h>

#include "process.h"

static void words_are_those_of_the_interface(void **state) {
    (void)state;
    assert_string_equal(state_to_string(STATE_DETECTED), "detected");
    assert_string_equal(state_to_string(STATE_READY), "ready");
    assert_string_equal(state_to_string(STATE_UNREACHABLE), "unreachable");
    assert_string_equal(state_to_string(STATE_GONE), "gone");
    assert_null(reason_to_string(REASON_NONE));
    assert_string_equal(reason_to_string(REASON_NO_SOCKET), "no_socket");
    assert_string_equal(reason_to_string(REASON_REFUSED), "refused");
    assert_string_equal(reason_to_string(REASON_PERMISSION_DENIED), "permission_denied");
    assert_string_equal(reason_to_string(REASON_TIMEOUT), "timeout");
    assert_string_equal(reason_to_string(REASON_NOT_OWNER), "not_owner");
    assert_string_equal(reason_to_string(REASON_PROTOCOL_ERROR), "protocol_error");
    assert_string_equal(signal_kind_to_string(SIGNAL_MAPPING), "mapping");
    assert_string_equal(signal_kind_to_string(SIGNAL_LISTEN), "listen");
    assert_string_equal(signal_kind_to_string(SIGNAL_SCAN), "scan");
}

static void states_are_read_back(void **state) {
    (void)state;
    for (State s = 0; s < STATE_COUNT_; s++) {
        State read = STATE_COUNT_;
        assert_int_equal(state_from_string(state_to_string(s), &read), 0);
        assert_int_equal(read, s);
    }
    State untouched = STATE_READY;
    assert_int_equal(state_from_string("Ready", &untouched), -EINVAL);
    assert_int_equal(state_from_string("", &untouched), -EINVAL);
    assert_int_equal(untouched, STATE_READY);
}

static void facts_begin_unknown(void **state) {
    (void)state;
    Facts *facts = facts_new();
    assert_non_null(facts);
    assert_true(facts->uid == UID_UNKNOWN && facts->gid == GID_UNKNOWN);
    assert_null(facts->runtime_version);
    assert_false(facts->has_cookie);
    facts_free(facts);
    facts_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_the_interface),
        cmocka_unit_test(states_are_read_back),
        cmocka_unit_test(facts_begin_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
