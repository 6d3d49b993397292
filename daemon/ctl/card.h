// "Label: value" lines, labels aligned to the right, as resolvectl status shows them.
// SPDX-License-Identifier: MIT
#pragma once

#include "output.h"
#include "table.h"

typedef struct Card {
    Table table;
} Card;

void card_init(Card *card);
void card_done(Card *card);

// Adds a line; `label` NULL continues the one before.
void card_add(Card *card, const char *label, Style style, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// -ENOMEM.
int card_print(const Card *card, const Output *output);
