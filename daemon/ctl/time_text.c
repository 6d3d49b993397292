// Time for people. Fractions are cut, never rounded up into a second that has not come.
// SPDX-License-Identifier: MIT
#include "time_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "instant.h"
#include "macro.h"

static bool break_down(uint64_t realtime_us, struct tm *ret) {
    time_t seconds = (time_t)(realtime_us / USEC_PER_SEC);
    return localtime_r(&seconds, ret);
}

static unsigned milliseconds_of(uint64_t realtime_us) {
    return (unsigned)(realtime_us % USEC_PER_SEC / USEC_PER_MSEC);
}

static void unknown(char ret[static TIME_TEXT_SIZE]) {
    snprintf(ret, TIME_TEXT_SIZE, "-");
}

void time_text_full(uint64_t realtime_us, char ret[static TIME_TEXT_SIZE]) {
    struct tm tm;
    char whole[TIME_TEXT_SIZE / 2], zone[TIME_TEXT_SIZE / 4];
    if (!break_down(realtime_us, &tm) ||
        strftime(whole, sizeof whole, "%a %Y-%m-%d %H:%M:%S", &tm) == 0 ||
        strftime(zone, sizeof zone, " %Z", &tm) == 0) {
        unknown(ret);
        return;
    }
    snprintf(ret, TIME_TEXT_SIZE, "%s.%03u%s", whole, milliseconds_of(realtime_us), zone);
}

void time_text_date(uint64_t realtime_us, char ret[static TIME_TEXT_SIZE]) {
    struct tm tm;
    if (!break_down(realtime_us, &tm) ||
        strftime(ret, TIME_TEXT_SIZE, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        unknown(ret);
}

void time_text_line(uint64_t realtime_us, char ret[static TIME_TEXT_SIZE]) {
    struct tm tm;
    char whole[TIME_TEXT_SIZE / 2];
    if (!break_down(realtime_us, &tm) ||
        strftime(whole, sizeof whole, "%b %d %H:%M:%S", &tm) == 0) {
        unknown(ret);
        return;
    }
    snprintf(ret, TIME_TEXT_SIZE, "%s.%03u", whole, milliseconds_of(realtime_us));
}

void time_text_span(uint64_t us, char ret[static TIME_TEXT_SIZE]) {
    static const struct {
        const char *one, *many;
        uint64_t seconds;
    } units[] = {{" day", " days", 86400}, {"h", "h", 3600}, {"min", "min", 60}, {"s", "s", 1}};

    uint64_t seconds = us / USEC_PER_SEC;
    size_t first = 0;
    while (first + 1 < ELEMENTS_OF(units) && seconds < units[first].seconds)
        first++;
    uint64_t count = seconds / units[first].seconds;
    int n = snprintf(ret, TIME_TEXT_SIZE, "%" PRIu64 "%s", count,
                     count == 1 ? units[first].one : units[first].many);

    uint64_t rest = seconds % units[first].seconds;
    if (first + 1 < ELEMENTS_OF(units) && rest >= units[first + 1].seconds)
        snprintf(ret + n, TIME_TEXT_SIZE - (size_t)n, " %" PRIu64 "%s",
                 rest / units[first + 1].seconds, units[first + 1].many);
}

void time_text_milliseconds(uint64_t us, char ret[static TIME_TEXT_SIZE]) {
    snprintf(ret, TIME_TEXT_SIZE, "%" PRIu64 ".%02u ms", us / USEC_PER_MSEC,
             (unsigned)(us % USEC_PER_MSEC / 10));
}

static bool unit_of(const char *text, size_t size, uint64_t *ret_us) {
    static const struct {
        const char *name;
        uint64_t us;
    } units[] = {
        {"", USEC_PER_SEC},
        {"us", 1},
        {"usec", 1},
        {"ms", USEC_PER_MSEC},
        {"msec", USEC_PER_MSEC},
        {"s", USEC_PER_SEC},
        {"sec", USEC_PER_SEC},
        {"second", USEC_PER_SEC},
        {"seconds", USEC_PER_SEC},
        {"m", 60 * USEC_PER_SEC},
        {"min", 60 * USEC_PER_SEC},
        {"minute", 60 * USEC_PER_SEC},
        {"minutes", 60 * USEC_PER_SEC},
        {"h", 3600 * USEC_PER_SEC},
        {"hr", 3600 * USEC_PER_SEC},
        {"hour", 3600 * USEC_PER_SEC},
        {"hours", 3600 * USEC_PER_SEC},
        {"d", 86400 * USEC_PER_SEC},
        {"day", 86400 * USEC_PER_SEC},
        {"days", 86400 * USEC_PER_SEC},
    };
    for (size_t i = 0; i < ELEMENTS_OF(units); i++)
        if (strlen(units[i].name) == size && memcmp(units[i].name, text, size) == 0) {
            *ret_us = units[i].us;
            return true;
        }
    return false;
}

// One "NUMBER[.FRACTION][ ]UNIT" at the front of *text, which is moved behind it.
static int parse_part(const char **text, uint64_t *ret_us) {
    static const char digits[] = "0123456789", blanks[] = " \t";
    const char *number = *text;
    size_t whole = strspn(number, digits);
    size_t fraction = number[whole] == '.' ? strspn(number + whole + 1, digits) : 0;
    const char *end = number + whole + (number[whole] == '.' ? 1 + fraction : 0);
    if (whole == 0 || (number[whole] == '.' && fraction == 0))
        return -EINVAL;

    const char *unit = end + strspn(end, blanks);
    size_t unit_size = strcspn(unit, "0123456789. \t");
    uint64_t unit_us;
    if (!unit_of(unit, unit_size, &unit_us))
        return -EINVAL;

    uint64_t us = 0;
    for (size_t i = 0; i < whole; i++)
        if (__builtin_mul_overflow(us, 10, &us) ||
            __builtin_add_overflow(us, (uint64_t)(number[i] - '0'), &us))
            return -ERANGE;
    if (__builtin_mul_overflow(us, unit_us, &us))
        return -ERANGE;
    uint64_t place = unit_us;
    for (size_t i = 0; i < fraction; i++) {
        place /= 10;
        if (__builtin_add_overflow(us, place * (uint64_t)(number[whole + 1 + i] - '0'), &us))
            return -ERANGE;
    }

    *text = unit + unit_size;
    *text += strspn(*text, blanks);
    *ret_us = us;
    return 0;
}

int time_text_parse_span(const char *text, uint64_t *ret_us) {
    if (strcmp(text, "infinity") == 0) {
        *ret_us = USEC_NEVER;
        return 0;
    }
    uint64_t total = 0;
    do {
        uint64_t us;
        int r = parse_part(&text, &us);
        if (r < 0)
            return r;
        // USEC_NEVER itself has another meaning.
        if (__builtin_add_overflow(total, us, &total) || total == USEC_NEVER)
            return -ERANGE;
    } while (*text);
    *ret_us = total;
    return 0;
}
