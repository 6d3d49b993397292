// Shell globs over UTF-8, at a cost that is known beforehand.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>

// Whether the whole text matches: '*', '?', "[...]" with ranges, '!' or '^' in front of what it
// must not be, and a backslash in front of what stands for itself. As fnmatch(3) without flags has
// it: a
// '[' without its ']' stands for itself, a backslash at the end matches nothing. Character classes
// ("[:alpha:]") are not known. Takes about as many steps as the product of both sizes, at most.
bool pattern_match(const char *pattern, const char *text);
