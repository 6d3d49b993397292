// Matching from left to right. Where it fails, the last '*' takes one character more: no earlier
// one ever needs to, since what stands between two stars may as well match where it first can.
//
// fnmatch(3) promises nothing of what a pattern costs, and knows UTF-8 only through the locale.
// SPDX-License-Identifier: MIT
#include "pattern.h"

#include <stddef.h>
#include <stdint.h>

// A byte that is no part of UTF-8 is a character of its own, beyond all others.
static uint32_t decode(const char **text) {
    const uint8_t *bytes = (const uint8_t *)*text;
    uint8_t lead = bytes[0];
    size_t size = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t value = size > 1 ? lead & (0x7fU >> size) : lead;
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            size = 0; // ends the loop
        else
            value = value << 6 | (bytes[i] & 0x3f);
    }
    *text += size > 0 ? size : 1;
    return size > 0 ? value : 0x200000U + lead;
}

// The next character that stands for itself; false where the pattern ends before it.
static bool take_literal(const char **pattern, uint32_t *ret) {
    *pattern += **pattern == '\\';
    if (**pattern == '\0')
        return false;
    *ret = decode(pattern);
    return true;
}

// False where the bracket is not closed.
static bool take_bracket(const char **pattern, uint32_t character, bool *ret_matches) {
    const char *p = *pattern + 1;
    bool negated = *p == '!' || *p == '^';
    bool found = false;
    p += negated;
    for (bool first = true; first || *p != ']'; first = false) {
        uint32_t low, high;
        if (!take_literal(&p, &low))
            return false;
        high = low;
        if (p[0] == '-' && p[1] != ']' && p[1] != '\0') {
            p++;
            if (!take_literal(&p, &high))
                return false;
        }
        found |= low <= character && character <= high;
    }
    *pattern = p + 1;
    *ret_matches = found != negated;
    return true;
}

// Moves the pattern on where its next element, which is no star, matches. What is behind a bracket
// that is not closed holds no closed one, so that none is looked through twice in vain.
static bool take_element(const char **pattern, const char **unclosed, uint32_t character) {
    if (**pattern == '?') {
        ++*pattern;
        return true;
    }
    if (**pattern == '[' && (!*unclosed || *pattern < *unclosed)) {
        bool matches;
        if (take_bracket(pattern, character, &matches))
            return matches;
        *unclosed = *pattern;
    }
    uint32_t literal;
    return take_literal(pattern, &literal) && literal == character;
}

bool pattern_match(const char *pattern, const char *text) {
    const char *behind_star = NULL, *star_end = NULL, *unclosed = NULL;
    while (*text != '\0') {
        if (*pattern == '*') {
            behind_star = ++pattern;
            star_end = text;
            continue;
        }
        uint32_t character = decode(&text);
        if (take_element(&pattern, &unclosed, character))
            continue;
        if (!behind_star)
            return false;
        decode(&star_end);
        pattern = behind_star;
        text = star_end;
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
