// Lays out columns: each as wide as its widest cell; where the terminal is narrower, they give way,
// flexible ones first, since a line that the terminal breaks is harder to read than one cut short.
// Widths are those of the characters on a terminal, not of their bytes.
// SPDX-License-Identifier: MIT
#include "table.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cleanup.h"

enum {
    GAP = 1,            // blanks between two columns
    FLEXIBLE_WIDE = 12, // enough of a text to tell it from others
    FLEXIBLE_LEAST = 4, // enough to see that there is one
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

// Writes a text and the blanks that fill it up to `width`.
static void pad(FILE *file, const char *text, size_t width, bool right) {
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

// Where to go on in the next line: behind a blank where there is one, and never at once.
static size_t wrap_at(const char *text, size_t width) {
    size_t size = cut_at(text, width);
    if (text[size] == '\0')
        return size;
    for (size_t i = size; i > 0; i--)
        if (text[i] == ' ')
            return i;
    mbstate_t state = {0};
    size_t columns;
    return size > 0 ? size : character(text, &state, &columns);
}

// How narrow a column may become, in the rounds that follow one another until the table fits.
enum { ROUNDS = 4 };

static size_t narrowest(const TableColumn *column, int round) {
    if (round == ROUNDS - 1)
        return 1;
    if (!column->flexible && !column->wraps)
        return SIZE_MAX;
    if (round == 0 && column->usual > 0)
        return column->usual;
    return round < 2 ? FLEXIBLE_WIDE : FLEXIBLE_LEAST;
}

static size_t *widest_above_limit(const Table *table, size_t *widths, int round) {
    size_t *widest = NULL;
    for (size_t i = 0; i < table->column_count; i++)
        if (widths[i] > narrowest(&table->columns[i], round) && (!widest || widths[i] > *widest))
            widest = &widths[i];
    return widest;
}

static void shrink(const Table *table, size_t width, size_t *widths) {
    size_t total = (table->column_count - 1) * GAP;
    for (size_t i = 0; i < table->column_count; i++)
        total += widths[i];
    for (int round = 0; round < ROUNDS; round++) {
        size_t *widest;
        while (total > width && (widest = widest_above_limit(table, widths, round))) {
            (*widest)--;
            total--;
        }
    }
}

static void fit(const Table *table, const TableLook *look, size_t *widths) {
    for (size_t i = 0; i < table->column_count; i++) {
        size_t title = look->header ? table_text_width(table->columns[i].title) : 0;
        size_t usual = table->columns[i].usual;
        widths[i] = title > usual ? title : usual;
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = table_text_width(table->cells[i].text);
        if (width > widths[i % table->column_count])
            widths[i % table->column_count] = width;
    }
    if (look->width > 0)
        shrink(table, look->width, widths);
}

// The text as it fits into `width`. *ret_owned is what the caller must free.
static int shorten(const char *text, size_t width, bool utf8, char **ret_owned, const char **ret) {
    *ret = text;
    if (table_text_width(text) <= width)
        return 0;
    const char *ellipsis = utf8 ? "\u2026" : "...";
    size_t mark = utf8 ? 1 : 3;
    if (width < mark)
        ellipsis = "", mark = 0;
    if (asprintf(ret_owned, "%.*s%s", (int)cut_at(text, width - mark), text, ellipsis) < 0) {
        *ret_owned = NULL;
        return -ENOMEM;
    }
    *ret = *ret_owned;
    return 0;
}

// Ends the line with the cell that wraps, and adds lines until all of it is there.
static void print_wrapping(FILE *file, const TableLook *look, const char *text, Style style,
                           size_t indent, size_t width) {
    for (bool first = true; first || *text; first = false) {
        size_t size = wrap_at(text, width);
        bool styled = look->colours && style != STYLE_PLAIN && size > 0;
        fprintf(file, "%*s%s%.*s%s\n", first ? 0 : (int)indent, "",
                styled ? style_begin(style) : "", (int)size, text, styled ? STYLE_END : "");
        text += size;
        text += strspn(text, " ");
    }
}

static int print_cell(const Table *table, FILE *file, const TableLook *look, size_t column,
                      const TableCell *cell, const size_t *widths) {
    bool last = column + 1 == table->column_count, right = table->columns[column].right;
    if (last && table->columns[column].wraps && look->width > 0) {
        size_t indent = 0;
        for (size_t i = 0; i < column; i++)
            indent += widths[i] + GAP;
        print_wrapping(file, look, cell->text, cell->style, indent, widths[column]);
        return 0;
    }
    _cleanup_free_ char *owned = NULL;
    const char *text;
    int r = shorten(cell->text, widths[column], look->utf8, &owned, &text);
    if (r < 0)
        return r;

    bool styled = look->colours && cell->style != STYLE_PLAIN;
    // The line under a header has no gaps.
    bool early_gap = cell->style == STYLE_HEADER;
    if (styled)
        fputs(style_begin(cell->style), file);
    // Blanks behind the last column would only make lines wrap.
    pad(file, text, last && !right ? 0 : widths[column], right);
    fprintf(file, "%*s", !last && early_gap ? GAP : 0, "");
    if (styled)
        fputs(STYLE_END, file);
    fprintf(file, "%*s", !last && !early_gap ? GAP : 0, "");
    if (last)
        fputc('\n', file);
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
        TableCell title = {.text = (char *)table->columns[i].title, .style = STYLE_HEADER};
        int r = print_cell(table, file, &look, i, &title, widths);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        int r = print_cell(table, file, &look, i % table->column_count, &table->cells[i], widths);
        if (r < 0)
            return r;
    }
    return 0;
}
