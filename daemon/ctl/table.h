// Aligned columns, in the manner of systemd's tables.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "style.h"

typedef struct TableColumn {
    const char *title; // may be NULL in a table without a header
    bool right;        // aligned to the right
    bool flexible;     // shortened where the table is wider than the terminal
    bool wraps;        // of the last column: goes on in lines of its own instead
    size_t usual;      // as wide at least, for tables that are printed row by row; 0: none
} TableColumn;

typedef struct TableCell {
    char *text; // owned
    Style style;
} TableCell;

typedef struct Table {
    const TableColumn *columns; // borrowed
    size_t column_count;
    TableCell *cells; // owned, row after row
    size_t cell_count;
    size_t capacity;
    int error; // of the first table_add() that failed
} Table;

void table_init(Table *table, const TableColumn *columns, size_t column_count);
void table_done(Table *table);

// Adds the next cell. A failure is kept and told by table_print().
void table_add(Table *table, Style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void table_vadd(Table *table, Style style, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

typedef struct TableLook {
    bool header;
    bool colours;
    bool utf8;    // an ellipsis may be one character
    size_t width; // columns of the terminal, 0: as wide as needed
} TableLook;

// -ENOMEM where a cell could not be added. Errors of `file` are left in `file`.
int table_print(const Table *table, FILE *file, TableLook look);

// Columns that a text takes on a terminal, in the locale's encoding.
size_t table_text_width(const char *text);
