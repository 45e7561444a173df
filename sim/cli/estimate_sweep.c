#include "cli/estimate_sweep.h"

#include "cli/command.h"
#include "cli/estimate_print.h"
#include "cli/numbers.h"

#include <math.h>
#include <string.h>

/* ---- Axes ---- */

static bool say_wrong(const char *text) {
    fprintf(stderr,
            "sluice estimate: --sweep needs a setting and its values, as tokens=1024,32Ki; found "
            "'%s'\nthe settings:",
            text);
    for (size_t i = 0; i < SLI_ESTIMATE_SETTINGS; i++) {
        fprintf(stderr, " %s", sli_estimate_settings[i].name);
    }
    fputc('\n', stderr);
    return false;
}

bool sli_axis_read(sli_estimate_input *input, const char *text, sli_axis *axis) {
    size_t length = strcspn(text, "=");
    *axis = (sli_axis){.setting = sli_estimate_setting_find(text, length)};
    if (axis->setting == NULL || text[length] != '=') {
        return say_wrong(text);
    }
    for (const char *value = text + length + 1;; value += strcspn(value, ",") + 1) {
        size_t size = strcspn(value, ",");
        if (size == 0 || axis->count == SLI_AXIS_VALUES_MAX) {
            return say_wrong(text);
        }
        axis->values[axis->count] = sli_arena_copy(&input->arena, value, size);
        if (axis->values[axis->count++] == NULL) {
            return false;
        }
        if (value[size] == '\0') {
            return true;
        }
    }
}

/* ---- Points ---- */

typedef struct point {
    sli_estimate_query query;
    sli_estimate estimate;
} point;

/* rows x columns of them; one axis has one column. */
typedef struct sweep {
    const sli_axis *axes;
    size_t rows;
    size_t columns;
    point *points;
} sweep;

static int find_point(sli_estimate_input *input, point *found) {
    if (input->query.architecture == NULL) {
        fputs("sluice estimate: a model is needed\n", stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    found->query = input->query;
    sl_err err = sli_estimate_find(&found->query, &input->diag, &found->estimate);
    return err != SL_OK ? sli_report_failure(err, &input->diag) : 0;
}

static int find_points(sli_estimate_input *input, size_t axis_count, const sweep *s) {
    for (size_t i = 0; i < s->rows; i++) {
        int code = sli_estimate_input_set(input, s->axes[0].setting, s->axes[0].values[i]);
        for (size_t j = 0; j < s->columns && code == 0; j++) {
            if (axis_count == 2) {
                code = sli_estimate_input_set(input, s->axes[1].setting, s->axes[1].values[j]);
            }
            code = code == 0 ? find_point(input, &s->points[i * s->columns + j]) : code;
        }
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

/* ---- For people ---- */

enum { LABEL_COLUMNS = 20, CELL_COLUMNS = 13, BAR_COLUMNS = 24 };

/* The value of an axis at a point. */
static const char *label_of(sli_arena *arena, const sli_axis *axis, const point *at) {
    const char *label = axis->setting->say(arena, &at->query);
    return label != NULL ? label : "";
}

static sli_number say_fitting(const point *at) {
    int64_t count = at->estimate.fit.max_requests;
    return count == SLI_UNBOUNDED ? (sli_number){"any"} : sli_say_count(count);
}

/* In eighths of a column, with the blocks U+2588 to U+258F; never nothing for something. */
static void print_bar(FILE *file, double share) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    long length = lround(share * BAR_COLUMNS * 8);
    length = share > 0.0 && length == 0 ? 1 : length;
    for (long i = 0; i < length / 8; i++) {
        fputs("█", file);
    }
    fputs(eighths[length % 8], file);
}

static double largest_total(const sweep *s) {
    double largest = 1.0;
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        largest = fmax(largest, (double)s->points[i].estimate.cache.total_bytes);
    }
    return largest;
}

/* A column appears when any point has something to say in it. */
typedef struct columns {
    bool has_time;
    bool has_fit;
} columns;

static columns find_columns(const sweep *s) {
    columns found = {0};
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        found.has_time |= s->points[i].estimate.step.floor_ns >= 0.0;
        found.has_fit |= s->points[i].query.device != NULL;
    }
    return found;
}

static void print_line(FILE *file, sli_arena *arena, const sweep *s, const point *at,
                       columns shown) {
    const sli_estimate *estimate = &at->estimate;
    fprintf(file, "  %*s%*s%*s", LABEL_COLUMNS, label_of(arena, &s->axes[0], at), CELL_COLUMNS,
            sli_say_bytes((double)estimate->cache.request_bytes).text, CELL_COLUMNS,
            sli_say_bytes((double)estimate->cache.total_bytes).text);
    if (shown.has_time) {
        fprintf(file, "%*s", CELL_COLUMNS, sli_say_time(estimate->step.floor_ns).text);
    }
    if (shown.has_fit) {
        fprintf(file, "%*s", CELL_COLUMNS, say_fitting(at).text);
    }
    fputs("  ", file);
    print_bar(file, (double)estimate->cache.total_bytes / largest_total(s));
    fputc('\n', file);
}

static void print_lines(FILE *file, sli_arena *arena, const sweep *s) {
    columns shown = find_columns(s);
    fprintf(file, "  %*s%*s%*s", LABEL_COLUMNS, s->axes[0].setting->name, CELL_COLUMNS, "a request",
            CELL_COLUMNS, "all requests");
    fprintf(file, "%*s", shown.has_time ? CELL_COLUMNS : 0, shown.has_time ? "step, least" : "");
    fprintf(file, "%*s\n", shown.has_fit ? CELL_COLUMNS : 0, shown.has_fit ? "at most fit" : "");
    for (size_t i = 0; i < s->rows; i++) {
        print_line(file, arena, s, &s->points[i], shown);
    }
}

static sli_number say_total(const point *at) {
    return sli_say_bytes((double)at->estimate.cache.total_bytes);
}

static sli_number say_floor(const point *at) {
    return sli_say_time(at->estimate.step.floor_ns);
}

static void print_grid(FILE *file, sli_arena *arena, const sweep *s, const char *title,
                       sli_number (*say)(const point *at)) {
    fprintf(file, "\n  %s\n\n  %*s", title, LABEL_COLUMNS, "");
    fprintf(file, "%*s\n", CELL_COLUMNS, s->axes[1].setting->name);
    fprintf(file, "  %*s", LABEL_COLUMNS, s->axes[0].setting->name);
    for (size_t j = 0; j < s->columns; j++) {
        fprintf(file, "%*s", CELL_COLUMNS, label_of(arena, &s->axes[1], &s->points[j]));
    }
    for (size_t i = 0; i < s->rows; i++) {
        const point *row = &s->points[i * s->columns];
        fprintf(file, "\n  %*s", LABEL_COLUMNS, label_of(arena, &s->axes[0], row));
        for (size_t j = 0; j < s->columns; j++) {
            fprintf(file, "%*s", CELL_COLUMNS, say(&row[j]).text);
        }
    }
    fputc('\n', file);
}

static void print_grids(FILE *file, sli_arena *arena, const sweep *s) {
    columns shown = find_columns(s);
    print_grid(file, arena, s, "cache of all requests", say_total);
    if (shown.has_time) {
        print_grid(file, arena, s, "a decode step takes at least", say_floor);
    }
    if (shown.has_fit) {
        print_grid(file, arena, s, "requests that fit at most", say_fitting);
    }
}

/* What all points have in common. */
static void print_heading(FILE *file, sli_arena *arena, const sweep *s, size_t axis_count) {
    const sli_estimate_query *query = &s->points[0].query;
    bool is_first = true;
    for (size_t i = 0; i < SLI_ESTIMATE_SETTINGS; i++) {
        const sli_estimate_setting *setting = &sli_estimate_settings[i];
        bool is_axis = setting == s->axes[0].setting ||
                       (axis_count == 2 && setting == s->axes[1].setting);
        const char *value = is_axis ? NULL : setting->say(arena, query);
        if (value != NULL) {
            fprintf(file, "%s%s %s", is_first ? "" : " · ", setting->name, value);
            is_first = false;
        }
    }
    fputc('\n', file);
}

/* ---- For programs ---- */

static int print_json(FILE *file, const sweep *s) {
    sli_json json;
    sli_json_init(&json, file);
    sli_json_open_array(&json, NULL);
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        sli_estimate_print_json(&json, NULL, &s->points[i].query, &s->points[i].estimate);
    }
    sli_json_close_array(&json);
    return sli_exit_code(sli_json_finish(&json));
}

int sli_estimate_sweep(sli_estimate_input *input, const sli_axis *axes, size_t axis_count,
                       bool as_json, FILE *file) {
    sweep s = {.axes = axes, .rows = axes[0].count, .columns = axis_count == 2 ? axes[1].count : 1};
    s.points = sli_arena_array(&input->arena, s.rows * s.columns, sizeof *s.points);
    if (s.points == NULL) {
        return sli_report_failure(SL_ERR_NOMEM, &input->diag);
    }
    int code = find_points(input, axis_count, &s);
    if (code != 0) {
        return code;
    }
    if (as_json) {
        return print_json(file, &s);
    }
    print_heading(file, &input->arena, &s, axis_count);
    if (axis_count == 2) {
        print_grids(file, &input->arena, &s);
    } else {
        fputc('\n', file);
        print_lines(file, &input->arena, &s);
    }
    return fflush(file) == 0 ? 0 : sli_exit_code(SL_ERR_IO);
}
