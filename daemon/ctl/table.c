// Lays out columns: each as wide as its widest cell; flexible ones give way where the terminal is
// narrower than that. Widths are those of the characters on a terminal, not of their bytes.
// SPDX-License-Identifier: MIT
#include "table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cleanup.h"

enum {
    GAP = 1,               // blanks between two columns
    FLEXIBLE_MINIMUM = 12, // a column is not made narrower than this
};

void table_init(Table *table, const TableColumn *columns, size_t column_count) {
    *table = (Table){.columns = columns, .column_count = column_count};
}

void table_done(Table *table) {
    if (!table)
        return;
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].text);
    free(table->cells);
    *table = (Table){.columns = table->columns, .column_count = table->column_count};
}

static int make_room(Table *table) {
    if (table->cell_count < table->capacity)
        return 0;
    size_t wanted = table->capacity > 0 ? 2 * table->capacity : 64;
    TableCell *cells = reallocarray(table->cells, wanted, sizeof *cells);
    if (!cells)
        return -ENOMEM;
    table->cells = cells;
    table->capacity = wanted;
    return 0;
}

void table_vadd(Table *table, Style style, const char *format, va_list arguments) {
    if (table->error < 0)
        return;
    table->error = make_room(table);
    if (table->error < 0)
        return;

    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        table->error = -ENOMEM;
        return;
    }
    table->cells[table->cell_count++] = (TableCell){.text = text, .style = style};
}

void table_add(Table *table, Style style, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    table_vadd(table, style, format, arguments);
    va_end(arguments);
}

// The first character of a text: its bytes and, in *ret_width, its columns. Bytes that are no
// character of the locale count as one column each.
static size_t character(const char *text, mbstate_t *state, size_t *ret_width) {
    wchar_t wide;
    size_t n = mbrtowc(&wide, text, strlen(text), state);
    if (n == 0 || n == (size_t)-1 || n == (size_t)-2) {
        *state = (mbstate_t){0};
        *ret_width = 1;
        return 1;
    }
    int width = wcwidth(wide);
    *ret_width = width < 0 ? 1 : (size_t)width;
    return n;
}

size_t table_text_width(const char *text) {
    mbstate_t state = {0};
    size_t total = 0;
    while (*text) {
        size_t width;
        text += character(text, &state, &width);
        total += width;
    }
    return total;
}

void table_pad(FILE *file, const char *text, size_t width, bool right) {
    size_t used = table_text_width(text);
    int blanks = used < width ? (int)(width - used) : 0;
    if (right)
        fprintf(file, "%*s%s", blanks, "", text);
    else
        fprintf(file, "%s%*s", text, blanks, "");
}

// Where to cut a text so that it takes `width` columns at most.
static size_t cut_at(const char *text, size_t width) {
    mbstate_t state = {0};
    size_t size = 0, total = 0;
    while (text[size]) {
        size_t columns;
        size_t n = character(text + size, &state, &columns);
        if (total + columns > width)
            break;
        total += columns;
        size += n;
    }
    return size;
}

static void fit(const Table *table, const TableLook *look, size_t *widths) {
    for (size_t i = 0; i < table->column_count; i++)
        widths[i] = look->header ? table_text_width(table->columns[i].title) : 0;
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = table_text_width(table->cells[i].text);
        if (width > widths[i % table->column_count])
            widths[i % table->column_count] = width;
    }
    if (look->width == 0)
        return;

    size_t total = (table->column_count - 1) * GAP;
    for (size_t i = 0; i < table->column_count; i++)
        total += widths[i];
    while (total > look->width) {
        size_t *widest = NULL;
        for (size_t i = 0; i < table->column_count; i++)
            if (table->columns[i].flexible && widths[i] > FLEXIBLE_MINIMUM &&
                (!widest || widths[i] > *widest))
                widest = &widths[i];
        if (!widest)
            break;
        (*widest)--;
        total--;
    }
}

static int print_cell(const Table *table, FILE *file, const TableLook *look, size_t column,
                      const char *text, Style style, size_t width) {
    _cleanup_free_ char *cut = NULL;
    if (table_text_width(text) > width) {
        const char *ellipsis = look->utf8 ? "\u2026" : "...";
        size_t kept = cut_at(text, width - (look->utf8 ? 1 : 3));
        if (asprintf(&cut, "%.*s%s", (int)kept, text, ellipsis) < 0) {
            cut = NULL;
            return -ENOMEM;
        }
        text = cut;
    }

    bool styled = look->colours && style != STYLE_PLAIN;
    if (styled)
        fputs(style_begin(style), file);
    // Blanks behind the last column would only make lines wrap.
    bool last = column + 1 == table->column_count && !table->columns[column].right;
    table_pad(file, text, last ? 0 : width, table->columns[column].right);
    if (style == STYLE_HEADER && column + 1 < table->column_count)
        fprintf(file, "%*s", GAP, "");
    if (styled)
        fputs(STYLE_END, file);
    if (column + 1 == table->column_count)
        fputc('\n', file);
    else if (style != STYLE_HEADER)
        fprintf(file, "%*s", GAP, "");
    return 0;
}

int table_print(const Table *table, FILE *file, TableLook look) {
    if (table->error < 0)
        return table->error;
    assert(table->cell_count % table->column_count == 0);
    _cleanup_free_ size_t *widths = calloc(table->column_count, sizeof *widths);
    if (!widths)
        return -ENOMEM;
    fit(table, &look, widths);

    for (size_t i = 0; look.header && i < table->column_count; i++) {
        int r = print_cell(table, file, &look, i, table->columns[i].title, STYLE_HEADER, widths[i]);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t column = i % table->column_count;
        const TableCell *cell = &table->cells[i];
        int r = print_cell(table, file, &look, column, cell->text, cell->style, widths[column]);
        if (r < 0)
            return r;
    }
    return 0;
}
