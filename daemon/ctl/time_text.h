// Moments and spans of time as people write and read them. Spans are those of systemd.time(7).
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

// Enough for each of the texts below. A moment beyond what the calendar can say becomes "-".
#define TIME_TEXT_SIZE 64

// Local time: "Mon 2026-11-30 12:51:07.123 CET".
void time_text_full(uint64_t realtime_us, char ret[static TIME_TEXT_SIZE]);
// "2026-11-30 12:51:07".
void time_text_date(uint64_t realtime_us, char ret[static TIME_TEXT_SIZE]);
// "Nov 30 12:51:07.123", as the journal's lines begin.
void time_text_line(uint64_t realtime_us, char ret[static TIME_TEXT_SIZE]);

// The two largest units of a span that are not zero: "2min 3s", "3 days 4h", "0s".
void time_text_span(uint64_t us, char ret[static TIME_TEXT_SIZE]);
// "1.53 ms".
void time_text_milliseconds(uint64_t us, char ret[static TIME_TEXT_SIZE]);

// "5", "5s", "2min", "500ms", "1min 30s", "1.5h", "infinity" (USEC_NEVER). A number without a unit
// is seconds. -EINVAL where it is none of these, -ERANGE where it is too long.
int time_text_parse_span(const char *text, uint64_t *ret_us);
