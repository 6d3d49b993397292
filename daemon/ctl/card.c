// A table of two columns.
// SPDX-License-Identifier: MIT
#include "card.h"

#include <stdarg.h>

#include "cleanup.h"
#include "macro.h"

void card_init(Card *card) {
    static const TableColumn columns[] = {{.right = true}, {.wraps = true}};
    table_init(&card->table, columns, ELEMENTS_OF(columns));
}

void card_done(Card *card) {
    table_done(&card->table);
}

void card_add(Card *card, const char *label, Style style, const char *format, ...) {
    table_add(&card->table, STYLE_PLAIN, "%s%s", label ? label : "", label ? ":" : "");
    va_list arguments;
    va_start(arguments, format);
    table_vadd(&card->table, style, format, arguments);
    va_end(arguments);
}

int card_print(const Card *card, const Output *output) {
    return output_table(output, &card->table, false);
}
