// What an input owns.
// SPDX-License-Identifier: MIT
#include "input.h"

#include <stdlib.h>

void input_done(Input *input) {
    if (!input || input->kind != INPUT_PROBED)
        return;
    free(input->probed.detail);
    facts_free(input->probed.facts);
    input->probed.detail = NULL;
    input->probed.facts = NULL;
}
