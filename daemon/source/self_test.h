// Whether a mechanism really tells: the daemon does itself what is to be noticed, and must hear of
// it. Private to this layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "input.h"

typedef struct SelfTest {
    bool mapping, listen; // told of since it began
} SelfTest;

// Maps and listens as a runtime does, by names that count for this process alone. -errno.
int self_test_begin(SelfTest *test);
// Once more, where a mechanism may have had no room to tell of it.
int self_test_act(void);
// True where the signal is of the daemon itself: it is noted and must not become an Input.
bool self_test_take(SelfTest *test, const Input *input);
