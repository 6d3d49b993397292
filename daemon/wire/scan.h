// Text that the kernel wrote, read from left to right. Each function takes one thing from the front
// and moves the cursor behind it, or returns false and leaves both the cursor and *ret alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool scan_literal(const char **text, const char *literal) {
    size_t size = strlen(literal);
    if (strncmp(*text, literal, size) != 0)
        return false;
    *text += size;
    return true;
}

// Digits and nothing before them (strtoull() would take blanks and signs); false on overflow.
static inline bool scan_decimal(const char **text, uint64_t *ret) {
    const char *p = *text;
    uint64_t value = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return false;
    if (p == *text)
        return false;
    *text = p;
    *ret = value;
    return true;
}

// 1 to 16 hexadecimal digits of either case, without "0x".
static inline bool scan_hex(const char **text, uint64_t *ret) {
    const char *p = *text;
    uint64_t value = 0;
    for (;; p++) {
        unsigned digit;
        if (*p >= '0' && *p <= '9')
            digit = (unsigned)(*p - '0');
        else if ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'f')
            digit = (unsigned)((*p | 0x20) - 'a') + 10;
        else
            break;
        if (p - *text == 16)
            return false;
        value = value << 4 | digit;
    }
    if (p == *text)
        return false;
    *text = p;
    *ret = value;
    return true;
}

static inline void scan_blanks(const char **text) {
    while (**text == ' ' || **text == '\t')
        (*text)++;
}
