// The words are those of systemd's parser, so that one variable means the same to all tools.
// SPDX-License-Identifier: MIT
#include "environment.h"

#include <errno.h>
#include <stddef.h>
#include <strings.h>

#include "macro.h"

int environment_boolean(const char *text) {
    static const char *const words[][2] = {
        {"0", "1"}, {"no", "yes"}, {"n", "y"}, {"false", "true"}, {"f", "t"}, {"off", "on"},
    };
    for (size_t i = 0; text && i < ELEMENTS_OF(words); i++)
        for (int value = 0; value <= 1; value++)
            if (strcasecmp(text, words[i][value]) == 0)
                return value;
    return -EINVAL;
}
