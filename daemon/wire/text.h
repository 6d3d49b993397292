// Bytes from a process made safe to show: in JSON, on a bus, on a terminal.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

// Valid UTF-8 passes; a byte that is not part of it, a noncharacter (U+FDD0..FDEF, and the last two
// of each plane), a control character (C0, DEL, C1) and what can turn a terminal's text around
// (U+2028..202E, U+2066..2069, U+200E, U+200F, U+061C) become \xNN a byte; a backslash becomes two.
// The caller owns the result; NULL when out of memory.
char *text_escape(const char *bytes, size_t size);

// UTF-16LE units as UTF-8 up to the first NUL unit or `units`; a lone surrogate becomes its three
// bytes of generalised UTF-8, which text_escape() then shows as not UTF-8. *ret is owned by the
// caller and ends with a NUL. -ENOMEM.
int text_from_utf16le(const uint8_t *bytes, size_t units, char **ret);
