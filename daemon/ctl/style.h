// What text looks like on a terminal that shows colours.
// SPDX-License-Identifier: MIT
#pragma once

typedef enum Style {
    STYLE_PLAIN,
    STYLE_HEADER,
    STYLE_GOOD,
    STYLE_WARNING,
    STYLE_BAD,
    STYLE_FAINT,
    STYLE_COUNT_,
} Style;

// The sequence that begins a style, "" for STYLE_PLAIN; STYLE_END ends any.
const char *style_begin(Style style);
#define STYLE_END "\033[0m"
