// Quoting. The daemon's escapes are also those of bash's $'...', so an argument that has any needs
// no decoding: it only has to stand in such quotes.
// SPDX-License-Identifier: MIT
#include "quote.h"

#include <stdlib.h>
#include <string.h>

char *quote_argument(const char *argument) {
    static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "%+,-./:=@_";
    size_t size = strlen(argument);
    if (size > 0 && strspn(argument, bare) == size)
        return strdup(argument);

    const char *open = strchr(argument, '\\') ? "$'" : "'";
    const char *quote = strchr(argument, '\\') ? "\\'" : "'\\''";
    size_t quotes = 0;
    for (const char *p = argument; (p = strchr(p, '\'')); p++)
        quotes++;
    char *result = malloc(strlen(open) + size + quotes * strlen(quote) + sizeof "'");
    if (!result)
        return NULL;

    char *end = stpcpy(result, open);
    for (const char *p = argument; *p; p++) {
        if (*p == '\'')
            end = stpcpy(end, quote);
        else
            *end++ = *p;
    }
    *end++ = '\'';
    *end = '\0';
    return result;
}
