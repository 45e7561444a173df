#include "calib/measured_check.h"

#include "base/grow.h"
#include "config/text.h"
#include "config/value.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Complaints ---- */

/* Whether one more is listed. */
static bool is_listed(sli_measured_errors *errors) {
    errors->count++;
    return errors->count <= SLI_MEASURED_MISTAKES_MAX;
}

static void say(sli_measured_errors *errors, sli_mark mark, const char *path, const char *format,
                va_list args) {
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    sli_diag_error(errors->diag, mark, path, "%s", text);
}

/* The mark and the path of a value; a dataset has no lines, so its index says where. */
static sli_mark mark_of(const sli_measured_errors *errors, const sli_measured_place *place,
                        const sli_measured_column *column, char *path, size_t size) {
    sli_mark mark = {errors->file, place->line, 0};
    if (column != NULL && place->columns != NULL) {
        mark.column = place->columns[column - sli_measured_columns];
    }
    if (place->line > 0) {
        snprintf(path, size, "%s", column != NULL ? column->name : "");
    } else {
        snprintf(path, size, "%s[%zu]", column != NULL ? column->name : "", place->index);
    }
    return mark;
}

void sli_measured_error(sli_measured_errors *errors, const sli_measured_place *place,
                        const sli_measured_column *column, const char *format, ...) {
    if (!is_listed(errors)) {
        return;
    }
    char path[64];
    sli_mark mark = mark_of(errors, place, column, path, sizeof path);
    va_list args;
    va_start(args, format);
    say(errors, mark, path, format, args);
    va_end(args);
}

void sli_measured_file_error(sli_measured_errors *errors, int line, int column, const char *format,
                             ...) {
    if (!is_listed(errors)) {
        return;
    }
    va_list args;
    va_start(args, format);
    say(errors, (sli_mark){errors->file, line, column}, NULL, format, args);
    va_end(args);
}

void sli_measured_unknown_column(sli_measured_errors *errors, int line, int column,
                                 const char *name) {
    const char *names[SLI_MEASURED_COLUMN_COUNT];
    sli_measured_column_names(names);
    const char *nearest = sli_nearest_spelling(name, names, SLI_MEASURED_COLUMN_COUNT);
    sli_measured_file_error(errors, line, column, "there is no column '%s'%s%s%s",
                            sli_excerpt_of(name).text, nearest != NULL ? "; did you mean '" : "",
                            nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

sl_err sli_measured_errors_close(sli_measured_errors *errors) {
    if (errors->count > SLI_MEASURED_MISTAKES_MAX) {
        sli_diag_error(errors->diag, (sli_mark){errors->file, 0, 0}, NULL,
                       "and %d more mistakes, which are not listed",
                       errors->count - SLI_MEASURED_MISTAKES_MAX);
    }
    return errors->count > 0 ? SL_ERR_CONFIG : SL_OK;
}

/* ---- One value ---- */

static bool is_word(const char *text) {
    return 'a' <= text[0] && text[0] <= 'z' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static bool is_printable(const char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t size = sli_utf8_decode(text + i, length - i, &character);
        if (size == 0 || !sli_is_printable(character)) {
            return false;
        }
        i += size;
    }
    return true;
}

/* The number that `count` digits at `text` make, or -1. */
static int digits(const char *text, int count) {
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

static int days_of(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && is_leap ? 29 : days[month - 1];
}

/* 2026-11-30T08:00:00Z */
static bool is_date(const char *text) {
    enum { DATE_CHARS = 20 };
    if (strlen(text) != DATE_CHARS || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
        text[13] != ':' || text[16] != ':' || text[19] != 'Z') {
        return false;
    }
    int year = digits(text, 4);
    int month = digits(text + 5, 2);
    int day = digits(text + 8, 2);
    int hour = digits(text + 11, 2);
    int minute = digits(text + 14, 2);
    int second = digits(text + 17, 2);
    return year >= 0 && 1 <= month && month <= 12 && 1 <= day && day <= days_of(year, month) &&
           0 <= hour && hour < 24 && 0 <= minute && minute < 60 && 0 <= second && second <= 60;
}

static void check_choice(sli_measured_errors *errors, const sli_measured_place *place,
                         const sli_measured_column *column, const char *text) {
    char list[160] = "";
    size_t count = 0;
    for (; column->choices[count] != NULL; count++) {
        if (strcmp(column->choices[count], text) == 0) {
            return;
        }
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", count > 0 ? ", " : "",
                 column->choices[count]);
    }
    sli_measured_error(errors, place, column, "expected one of %s, found '%s'%s", list,
                       sli_excerpt_of(text).text,
                       sli_value_hint(text, column->choices, count).text);
}

static void check_text(sli_measured_errors *errors, const sli_measured_place *place,
                       const sli_measured_column *column, const char *text) {
    if (column->choices != NULL) {
        check_choice(errors, place, column, text);
    } else if (column->type == SLI_MEASURED_WORD && !is_word(text)) {
        sli_measured_error(errors, place, column,
                           "expected a word of small letters, digits and _, found '%s'",
                           sli_excerpt_of(text).text);
    } else if (column->type == SLI_MEASURED_DATE && !is_date(text)) {
        sli_measured_error(errors, place, column,
                           "expected a date as 2026-11-30T08:00:00Z, found '%s'",
                           sli_excerpt_of(text).text);
    } else if (!is_printable(text)) {
        sli_measured_error(errors, place, column, "has bytes that are no printable UTF-8: '%s'",
                           sli_excerpt_of(text).text);
    }
}

static void check_number(sli_measured_errors *errors, const sli_measured_place *place,
                         const sli_measured_column *column, const sli_measurement *row) {
    double value = column->type == SLI_MEASURED_WHOLE ? (double)sli_measured_whole(column, row)
                                                      : sli_measured_real(column, row);
    if (isinf(value)) {
        sli_measured_error(errors, place, column, "must be finite");
    } else if (value < column->least) {
        sli_measured_error(errors, place, column, "must be at least %g, found %g", column->least,
                           value);
    }
}

static void check_value(sli_measured_errors *errors, const sli_measured_place *place,
                        const sli_measured_column *column, const sli_measurement *row) {
    if (sli_measured_is_empty(column, row)) {
        if (!column->can_be_empty) {
            sli_measured_error(errors, place, column, "must not be empty");
        }
    } else if (sli_measured_is_text(column)) {
        check_text(errors, place, column, sli_measured_text(column, row));
    } else {
        check_number(errors, place, column, row);
    }
}

/* ---- The values of a row with each other ---- */

static const sli_measured_column *column_of(const char *name) {
    return sli_measured_column_find(name);
}

static void check_times(sli_measured_errors *errors, const sli_measured_place *place,
                        const sli_measurement *row) {
    const double least = row->time_min_ns;
    const double median = row->time_median_ns;
    const double high = row->time_p90_ns;
    if (least == 0.0) {
        sli_measured_error(errors, place, column_of("time_min_ns"), "must be above 0");
    }
    if (least > median) {
        sli_measured_error(errors, place, column_of("time_median_ns"),
                           "must be at least time_min_ns, %g; found %g", least, median);
    }
    if (median > high) {
        sli_measured_error(errors, place, column_of("time_p90_ns"),
                           "must be at least time_median_ns, %g; found %g", median, high);
    }
    if (row->samples == 1 && (least < median || median < high)) {
        sli_measured_error(errors, place, column_of("samples"),
                           "one sample has one time, but three times differ");
    }
}

/* A share of a peak is empty where there is no peak, and else what it says that it is. */
static void check_share(sli_measured_errors *errors, const sli_measured_place *place,
                        const char *name, double share, int64_t work, double peak,
                        double median_ns) {
    const double ns_per_s = 1e9;
    const double slack = 1e-6; /* relative: both may be printed with seven digits */
    const sli_measured_column *column = column_of(name);
    if (isnan(share) != isnan(peak)) {
        sli_measured_error(errors, place, column, "%s",
                           isnan(peak) ? "is a share of a peak that is not given"
                                       : "must not be empty where the peak is given");
    } else if (!isnan(share) && work >= 0 && median_ns > 0.0) {
        double expected = (double)work / median_ns * ns_per_s / peak;
        if (fabs(share - expected) > slack * expected) {
            sli_measured_error(errors, place, column,
                               "must be %g, which follows from work, time and peak; found %g",
                               expected, share);
        }
    }
}

/* More than a peak is possible where a cache or a clock above the nominal one helps. */
static void warn_of_share(const sli_measured_errors *errors, const sli_measured_place *place,
                          const char *name, double share) {
    if (share > 1.0) {
        char path[64];
        sli_mark mark = mark_of(errors, place, column_of(name), path, sizeof path);
        sli_diag_warning(errors->diag, mark, path, "%g of the peak: is the peak right?", share);
    }
}

static bool has_shape(const sli_measurement *row) {
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        const sli_measured_column *column = &sli_measured_columns[i];
        if (column->role == SLI_MEASURED_SHAPE && !sli_measured_is_text(column) &&
            !sli_measured_is_empty(column, row)) {
            return true;
        }
    }
    return false;
}

void sli_measured_check_row(sli_measured_errors *errors, const sli_measured_place *place,
                            const sli_measurement *row) {
    int before = errors->count;
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        check_value(errors, place, &sli_measured_columns[i], row);
    }
    if (errors->count > before) {
        return;
    }
    if (row->format_version != SLI_MEASUREMENT_FORMAT) {
        sli_measured_error(errors, place, column_of("format_version"),
                           "expected %d, found %lld: written by another version of sluice",
                           SLI_MEASUREMENT_FORMAT, (long long)row->format_version);
        return;
    }
    check_times(errors, place, row);
    check_share(errors, place, "flops_frac", row->flops_frac, row->algorithmic_flops,
                row->peak_flops_per_s, row->time_median_ns);
    check_share(errors, place, "bytes_frac", row->bytes_frac, row->algorithmic_bytes,
                row->peak_bytes_per_s, row->time_median_ns);
    if (!has_shape(row)) {
        sli_measured_error(errors, place, NULL, "the shape is empty");
    }
    warn_of_share(errors, place, "flops_frac", row->flops_frac);
    if (strcmp(row->cache, "warm") != 0) {
        warn_of_share(errors, place, "bytes_frac", row->bytes_frac);
    }
}

/* ---- Rows with each other ---- */

/* One column of two rows; an order of its own, for sorting and equality. */
static int compare_column(const sli_measured_column *column, const sli_measurement *a,
                          const sli_measurement *b) {
    if (sli_measured_is_text(column)) {
        return strcmp(sli_measured_text(column, a), sli_measured_text(column, b));
    }
    int64_t x = sli_measured_whole(column, a);
    int64_t y = sli_measured_whole(column, b);
    return (x > y) - (x < y);
}

/* What was measured: circumstances and shape, but for the clock. Rows come as pointers, and those
 * that are equal in the order of the file. */
static int compare_rows(const void *left, const void *right) {
    const sli_measurement *a = *(const sli_measurement *const *)left;
    const sli_measurement *b = *(const sli_measurement *const *)right;
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        const sli_measured_column *column = &sli_measured_columns[i];
        if (column->role != SLI_MEASURED_RESULT && column->type != SLI_MEASURED_REAL) {
            int order = compare_column(column, a, b);
            if (order != 0) {
                return order;
            }
        }
    }
    return 0;
}

static int compare_and_keep_order(const void *left, const void *right) {
    int order = compare_rows(left, right);
    const sli_measurement *a = *(const sli_measurement *const *)left;
    const sli_measurement *b = *(const sli_measurement *const *)right;
    return order != 0 ? order : (a > b) - (a < b);
}

typedef struct table {
    sli_measured_errors *errors;
    const sli_measurement *rows;
    const int *lines;
} table;

static sli_measured_place place_of(const table *it, const sli_measurement *row) {
    size_t index = (size_t)(row - it->rows);
    return (sli_measured_place){index, it->lines != NULL ? it->lines[index] : 0, NULL};
}

/* How messages name another row. */
static void name_row(const table *it, const sli_measurement *row, char *text, size_t size) {
    sli_measured_place place = place_of(it, row);
    if (place.line > 0) {
        snprintf(text, size, "line %d", place.line);
    } else {
        snprintf(text, size, "row %zu", place.index);
    }
}

static void check_twins(const table *it, const sli_measurement *earlier,
                        const sli_measurement *later) {
    char name[32];
    name_row(it, earlier, name, sizeof name);
    sli_measured_place place = place_of(it, later);
    sli_measured_error(it->errors, &place, NULL, "the same measurement as %s", name);
}

/* Two rows of one kernel fill the same columns of the shape. */
static void check_relatives(const table *it, const sli_measurement *first,
                            const sli_measurement *row) {
    for (size_t i = 0; i < SLI_MEASURED_COLUMN_COUNT; i++) {
        const sli_measured_column *column = &sli_measured_columns[i];
        if (column->role != SLI_MEASURED_SHAPE ||
            sli_measured_is_empty(column, first) == sli_measured_is_empty(column, row)) {
            continue;
        }
        char name[32];
        name_row(it, first, name, sizeof name);
        sli_measured_place place = place_of(it, row);
        sli_measured_error(it->errors, &place, column, "%s for %s, unlike %s",
                           sli_measured_is_empty(column, row) ? "must not be empty"
                                                              : "must be empty",
                           row->kernel, name);
        return;
    }
}

sl_err sli_measured_check_table(sli_measured_errors *errors, const sli_measurement *rows,
                                const int *lines, size_t count) {
    if (count == 0) {
        return SL_OK;
    }
    const sli_measurement **sorted = NULL;
    size_t capacity = 0;
    SL_TRY(sli_grow(&sorted, &capacity, count, sizeof(sli_measurement *)));
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &rows[i];
    }
    qsort(sorted, count, sizeof(sli_measurement *), compare_and_keep_order);
    table it = {errors, rows, lines};
    const sli_measurement *first = sorted[0]; /* of its kernel and backend */
    for (size_t i = 1; i < count; i++) {
        const sli_measurement *row = sorted[i];
        bool is_relative = strcmp(first->kernel, row->kernel) == 0 &&
                           strcmp(first->backend, row->backend) == 0;
        if (compare_rows(&sorted[i - 1], &sorted[i]) == 0) {
            check_twins(&it, sorted[i - 1], row);
        } else if (is_relative) {
            check_relatives(&it, first, row);
        }
        first = is_relative ? first : row;
    }
    free(sorted);
    return SL_OK;
}
