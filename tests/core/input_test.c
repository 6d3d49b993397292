// What an input owns is freed once, whatever its kind.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <string.h>

#include "input.h"

static void done_frees_what_is_owned(void **state) {
    (void)state;
    Input input = {.kind = INPUT_PROBED,
                   .probed = {.serial = 1, .detail = strdup("ECONNREFUSED"), .facts = facts_new()}};
    input_done(&input);
    assert_null(input.probed.detail);
    assert_null(input.probed.facts);
    input_done(&input);
    input_done(NULL);

    Input signal = {.kind = INPUT_SIGNAL, .signal = {.key = {.pid = 1}}};
    input_done(&signal);
    assert_int_equal(signal.signal.key.pid, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(done_frees_what_is_owned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
