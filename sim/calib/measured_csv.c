#include "calib/measured_csv.h"

#include "base/grow.h"
#include "base/units.h"
#include "config/text.h"
#include "config/value.h"

#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

typedef struct reader {
    char *next; /* first byte that is not read yet */
    char *end;
    char *line_start;
    int line;
    sli_measured_errors *errors;
    /* The column that each value of a line belongs to; NULL where the name was refused. */
    const sli_measured_column **columns;
    size_t column_count;
} reader;

/* A value, NUL-terminated in place. */
typedef struct cell {
    char *text;
    int column; /* of its first byte in the line, from 1 */
    bool is_last;
} cell;

/* Undoes the quotes of a value that begins at next[0] == '"'. False if they are never closed. */
static bool read_quoted(reader *it, cell *value) {
    char *to = it->next + 1;
    value->text = to;
    for (char *from = to; from < it->end; from++) {
        if (*from != '"') {
            if (*from == '\n') {
                it->line++;
                it->line_start = from + 1;
            }
            *to++ = *from;
        } else if (from + 1 < it->end && from[1] == '"') {
            *to++ = *from++;
        } else {
            *to = '\0';
            it->next = from + 1;
            return true;
        }
    }
    return false;
}

/* Moves behind the comma or the end of the line. False after a mistake that ends the reading. */
static bool read_cell(reader *it, cell *value) {
    int line = it->line;
    value->column = (int)(it->next - it->line_start) + 1;
    value->text = it->next;
    char *end = it->next;
    bool is_quoted = it->next < it->end && *it->next == '"';
    if (is_quoted) {
        if (!read_quoted(it, value)) {
            sli_measured_file_error(it->errors, line, value->column, "the quote is not closed");
            return false;
        }
        end = it->next;
    } else {
        while (end < it->end && *end != ',' && *end != '\n') {
            end++;
        }
    }
    char *stop = end;
    if (stop < it->end && *stop == '\r') {
        stop++;
    }
    if (stop < it->end && *stop != ',' && *stop != '\n') {
        sli_measured_file_error(it->errors, it->line, (int)(stop - it->line_start) + 1,
                                "expected a comma behind the quote");
        return false;
    }
    value->is_last = stop == it->end || *stop == '\n';
    if (!is_quoted && value->is_last && end > value->text && end[-1] == '\r') {
        end--;
    }
    it->next = stop < it->end ? stop + 1 : stop;
    if (!is_quoted) {
        *end = '\0';
    }
    if (value->is_last) {
        it->line++;
        it->line_start = it->next;
    }
    return true;
}

/* The column of a name; says what is wrong with it. */
static const sli_measured_column *name_column(reader *it, int line, const cell *value) {
    const sli_measured_column *column = sli_measured_column_find(value->text);
    if (column == NULL) {
        sli_measured_unknown_column(it->errors, line, value->column, value->text);
        return NULL;
    }
    for (size_t i = 0; i < it->column_count; i++) {
        if (it->columns[i] == column) {
            sli_measured_file_error(it->errors, line, value->column,
                                    "the column '%s' is there already", column->name);
            return NULL;
        }
    }
    return column;
}

static void check_columns_are_there(reader *it, int line) {
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        const sli_measured_column *column = &sli_measured_columns[i];
        bool is_there = column->role == SLI_MEASURED_SHAPE;
        for (size_t j = 0; j < it->column_count && !is_there; j++) {
            is_there = it->columns[j] == column;
        }
        if (!is_there) {
            sli_measured_file_error(it->errors, line, 0, "the column '%s' is missing",
                                    column->name);
        }
    }
}

/* The names of the columns. False after a mistake. */
static sl_err read_header(reader *it, bool *is_good) {
    int before = it->errors->count;
    int line = it->line;
    size_t capacity = 0;
    cell value = {0};
    *is_good = false;
    while (!value.is_last) {
        if (!read_cell(it, &value)) {
            return SL_OK;
        }
        if (it->column_count == 0 && strcmp(value.text, sli_measured_columns[0].name) != 0) {
            sli_measured_file_error(it->errors, line, value.column,
                                    "not a file of measurements: its first column is '%s', not "
                                    "'%s'",
                                    sli_excerpt_of(value.text).text, sli_measured_columns[0].name);
            return SL_OK;
        }
        SL_TRY(sli_grow(&it->columns, &capacity, it->column_count + 1,
                        sizeof(const sli_measured_column *)));
        it->columns[it->column_count] = name_column(it, line, &value);
        it->column_count++;
    }
    check_columns_are_there(it, line);
    *is_good = it->errors->count == before;
    return SL_OK;
}

static const char *number_trouble(sli_unit_status status, bool is_whole) {
    switch (status) {
    case SLI_UNIT_NOT_WHOLE:
        return "a whole number";
    case SLI_UNIT_UNEXPECTED:
        return "a number without a unit";
    case SLI_UNIT_OVERFLOW:
        return is_whole ? "a number below 2^63" : "a number of double precision";
    default:
        return is_whole ? "a whole number" : "a number";
    }
}

/* False if the text is no value of the column. A number that is empty stays so. */
static bool read_value(reader *it, const sli_measured_place *place,
                       const sli_measured_column *column, const char *text, sli_measurement *row) {
    sli_unit_status status = SLI_UNIT_OK;
    if (sli_measured_is_text(column)) {
        sli_measured_set_text(column, row, text);
    } else if (text[0] != '\0' && column->type == SLI_MEASURED_WHOLE) {
        int64_t value = 0;
        status = sli_parse_int(text, SL_DIM_NONE, &value);
        sli_measured_set_whole(column, row, value);
        if (status == SLI_UNIT_OK && value < 0) { /* -1 would be empty */
            sli_measured_error(it->errors, place, column, "must not be negative, found %s", text);
            return false;
        }
    } else if (text[0] != '\0') {
        double value = 0.0;
        status = sli_parse_real(text, SL_DIM_NONE, &value);
        sli_measured_set_real(column, row, value);
    }
    if (status != SLI_UNIT_OK) {
        sli_measured_error(it->errors, place, column, "expected %s, found '%s'",
                           number_trouble(status, column->type == SLI_MEASURED_WHOLE),
                           sli_excerpt_of(text).text);
    }
    return status == SLI_UNIT_OK;
}

/* One line. False after a mistake that ends the reading. */
static bool read_row(reader *it, size_t index, sli_measurement *row) {
    int columns[SLI_MEASURED_COLUMN_COUNT] = {0};
    sli_measured_place place = {index, it->line, columns};
    int before = it->errors->count;
    *row = sli_no_measurement;
    size_t count = 0;
    cell value = {0};
    while (!value.is_last) {
        if (!read_cell(it, &value)) {
            return false;
        }
        if (count < it->column_count) {
            const sli_measured_column *column = it->columns[count];
            columns[column - sli_measured_columns] = value.column;
            read_value(it, &place, column, value.text, row);
        }
        count++;
    }
    if (count != it->column_count) {
        sli_measured_error(it->errors, &place, NULL, "%zu values in %zu columns", count,
                           it->column_count);
    } else if (it->errors->count == before) {
        sli_measured_check_row(it->errors, &place, row);
    }
    return true;
}

/* Rows and the lines that they stand in. */
typedef struct rows {
    sli_measurement *rows;
    int *lines;
    size_t count;
    size_t row_capacity;
    size_t line_capacity;
} rows;

static sl_err read_rows(reader *it, rows *all) {
    while (it->next < it->end) {
        if (*it->next == '\n' || *it->next == '\r') { /* a blank line */
            if (*it->next++ == '\n') {
                it->line++;
                it->line_start = it->next;
            }
            continue;
        }
        SL_TRY(sli_grow(&all->rows, &all->row_capacity, all->count + 1, sizeof *all->rows));
        SL_TRY(sli_grow(&all->lines, &all->line_capacity, all->count + 1, sizeof *all->lines));
        all->lines[all->count] = it->line;
        if (!read_row(it, all->count, &all->rows[all->count])) {
            return SL_OK;
        }
        all->count++;
    }
    if (all->count == 0) {
        sli_measured_file_error(it->errors, 0, 0, "holds no measurement");
    }
    if (it->errors->count == 0) {
        return sli_measured_check_table(it->errors, all->rows, all->lines, all->count);
    }
    return SL_OK;
}

static sl_err keep_rows(sli_arena *arena, const rows *all, sli_measurements *table) {
    sli_measurement *kept = sli_arena_array(arena, all->count, sizeof *kept);
    if (kept == NULL) {
        return SL_ERR_NOMEM;
    }
    if (all->count > 0) {
        memcpy(kept, all->rows, all->count * sizeof *kept);
    }
    *table = (sli_measurements){kept, all->count};
    return SL_OK;
}

sl_err sli_measured_csv_read(sli_arena *arena, char *text, size_t length,
                             sli_measured_errors *errors, sli_measurements *table) {
    static const char mark[] = "\xef\xbb\xbf"; /* some programs put it in front of UTF-8 */
    if (length >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    reader it = {
        .next = text, .end = text + length, .line_start = text, .line = 1, .errors = errors};
    if (memchr(text, '\0', length) != NULL) {
        sli_measured_file_error(errors, 0, 0, "is no text: it has bytes of zero");
        return SL_OK;
    }
    rows all = {0};
    bool is_good = false;
    sl_err err = read_header(&it, &is_good);
    if (err == SL_OK && is_good) {
        err = read_rows(&it, &all);
    }
    if (err == SL_OK && errors->count == 0) {
        err = keep_rows(arena, &all, table);
    }
    free(it.columns);
    free(all.rows);
    free(all.lines);
    return err;
}

/* ---- Writing ---- */

static void write_text(const char *text, FILE *stream) {
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            fputc('"', stream);
        }
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void write_value(const sli_measured_column *column, const sli_measurement *row,
                        FILE *stream) {
    char number[64] = "";
    if (sli_measured_is_text(column)) {
        write_text(sli_measured_text(column, row), stream);
        return;
    }
    if (sli_measured_is_empty(column, row)) {
        return;
    }
    if (column->type == SLI_MEASURED_WHOLE) {
        snprintf(number, sizeof number, "%lld", (long long)sli_measured_whole(column, row));
    } else {
        sli_format_real(sli_measured_real(column, row), SL_DIM_NONE, number, sizeof number);
    }
    fputs(number, stream);
}

void sli_measured_csv_write(const sli_measurements *table, FILE *stream) {
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        fprintf(stream, "%s%s", i > 0 ? "," : "", sli_measured_columns[i].name);
    }
    fputc('\n', stream);
    for (size_t j = 0; j < table->count; j++) {
        for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
            if (i > 0) {
                fputc(',', stream);
            }
            write_value(&sli_measured_columns[i], &table->rows[j], stream);
        }
        fputc('\n', stream);
    }
}
