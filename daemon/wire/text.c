// Escaping and UTF-16. Both decode by hand instead of through iconv or the C library's wide
// characters: what is well-formed here must not depend on a locale.
//
// Nearly everything a process shows is plain ASCII, hence text_escape() looks for the first byte
// that is not, allocates for what that leaves, and is done where there is none.
// SPDX-License-Identifier: MIT
#include "text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(uint8_t byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '\\';
}

// The bytes of the well-formed UTF-8 sequence at the front, 0 where there is none (RFC 3629:
// nothing overlong, no surrogates, nothing beyond U+10FFFF).
static size_t sequence_size(const uint8_t *bytes, size_t size) {
    uint8_t lead = bytes[0];
    uint8_t lowest = 0x80, highest = 0xbf; // of the second byte
    size_t wanted;

    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf) {
        wanted = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        wanted = 3;
        if (lead == 0xe0)
            lowest = 0xa0;
        if (lead == 0xed)
            highest = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        wanted = 4;
        if (lead == 0xf0)
            lowest = 0x90;
        if (lead == 0xf4)
            highest = 0x8f;
    } else {
        return 0;
    }

    if (size < wanted || bytes[1] < lowest || bytes[1] > highest)
        return 0;
    for (size_t i = 2; i < wanted; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    return wanted;
}

static uint32_t code_point(const uint8_t *bytes, size_t size) {
    static const uint8_t lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t value = bytes[0] & lead_bits[size];
    for (size_t i = 1; i < size; i++)
        value = value << 6 | (bytes[i] & 0x3f);
    return value;
}

// What Unicode keeps for inside a program. systemd's libraries, on the bus and behind Varlink, take
// no text with one: neither the rest of it nor the whole message.
static bool is_noncharacter(uint32_t c) {
    return (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);
}

static bool is_unsafe(uint32_t c) {
    return is_noncharacter(c) || c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c ||
           c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

// Writes four bytes at most for each byte read; returns the end.
static char *escape(char *out, const uint8_t *bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";

    while (size > 0) {
        size_t taken = sequence_size(bytes, size);
        bool shown = taken > 0 && !is_unsafe(code_point(bytes, taken));
        if (taken == 0)
            taken = 1;
        for (size_t i = 0; i < taken; i++) {
            if (!shown) {
                *out++ = '\\';
                *out++ = 'x';
                *out++ = digits[bytes[i] >> 4];
                *out++ = digits[bytes[i] & 0x0f];
                continue;
            }
            if (bytes[i] == '\\')
                *out++ = '\\';
            *out++ = (char)bytes[i];
        }
        bytes += taken;
        size -= taken;
    }
    return out;
}

char *text_escape(const char *bytes, size_t size) {
    const uint8_t *in = (const uint8_t *)bytes;
    size_t plain = 0;
    while (plain < size && is_plain(in[plain]))
        plain++;

    size_t room;
    if (__builtin_mul_overflow(size - plain, (size_t)4, &room) ||
        __builtin_add_overflow(room, plain + 1, &room))
        return NULL;
    char *text = malloc(room);
    if (!text)
        return NULL;
    if (plain > 0)
        memcpy(text, bytes, plain);
    if (plain == size) {
        text[plain] = '\0';
        return text;
    }

    char *end = escape(text + plain, in + plain, size - plain);
    *end++ = '\0';
    // Gives back what the worst case asked for; a failure to do so is none of the caller's
    // business.
    char *fitting = realloc(text, (size_t)(end - text));
    return fitting ? fitting : text;
}

static char *put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *out++ = (char)(0xe0 | c >> 12);
        } else {
            *out++ = (char)(0xf0 | c >> 18);
            *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (c & 0x3f));
    return out;
}

static uint32_t unit_at(const uint8_t *bytes, size_t index) {
    return (uint32_t)bytes[2 * index] | (uint32_t)bytes[2 * index + 1] << 8;
}

int text_from_utf16le(const uint8_t *bytes, size_t units, char **ret) {
    size_t used = 0;
    while (used < units && unit_at(bytes, used) != 0)
        used++;

    // A unit takes three bytes at most, a pair of surrogates four.
    size_t room;
    if (__builtin_mul_overflow(used, (size_t)3, &room) ||
        __builtin_add_overflow(room, (size_t)1, &room))
        return -ENOMEM;
    char *text = malloc(room);
    if (!text)
        return -ENOMEM;

    char *end = text;
    for (size_t i = 0; i < used; i++) {
        uint32_t c = unit_at(bytes, i);
        if (c >= 0xd800 && c <= 0xdbff && i + 1 < used) {
            uint32_t low = unit_at(bytes, i + 1);
            if (low >= 0xdc00 && low <= 0xdfff) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i++;
            }
        }
        end = put_utf8(end, c);
    }
    *end++ = '\0';

    char *fitting = realloc(text, (size_t)(end - text));
    *ret = fitting ? fitting : text;
    return 0;
}
