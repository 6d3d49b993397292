// ANSI sequences, the ones that systemd's tools use for the same purposes.
// SPDX-License-Identifier: MIT
#include "style.h"

#include "cleanup.h"
#include "macro.h"

static const char *const sequences[] = {
    [STYLE_PLAIN] = "",           [STYLE_HEADER] = "\033[4m", [STYLE_GOOD] = "\033[32m",
    [STYLE_WARNING] = "\033[33m", [STYLE_BAD] = "\033[31;1m", [STYLE_FAINT] = "\033[90m",
};
_Static_assert(ELEMENTS_OF(sequences) == STYLE_COUNT_, "every style has its sequence");

const char *style_begin(Style style) {
    return sequences[style];
}
