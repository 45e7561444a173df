#include "cli/estimate_sweep.h"

#include "cli/command.h"
#include "cli/estimate_plot.h"
#include "cli/estimate_print.h"
#include "cli/numbers.h"
#include "out/file.h"

#include <errno.h>
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

static int find_point(sli_estimate_input *input, sli_sweep_point *found) {
    if (input->query.architecture == NULL) {
        fputs("sluice estimate: a model is needed\n", stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    found->query = input->query;
    sl_err err = sli_estimate_find(&found->query, &input->diag, &found->estimate);
    return err != SL_OK ? sli_report_failure(err, &input->diag) : 0;
}

static int find_points(sli_estimate_input *input, const sli_sweep *s) {
    for (size_t i = 0; i < s->rows; i++) {
        int code = sli_estimate_input_set(input, s->axes[0].setting, s->axes[0].values[i]);
        for (size_t j = 0; j < s->columns && code == 0; j++) {
            if (s->axis_count == 2) {
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

/* ---- What is said of them ---- */

/* What a setting has nothing to say of, as a prefix of 0, is shown as it was given. */
const char *sli_sweep_label(sli_arena *arena, const sli_axis *axis, size_t i,
                            const sli_sweep_point *at) {
    const char *label = axis->setting->say(arena, &at->query);
    return label != NULL ? label : axis->values[i];
}

const char *sli_sweep_heading(sli_arena *arena, const sli_sweep *sweep) {
    const sli_estimate_query *query = &sweep->points[0].query;
    const char *text = "";
    for (size_t i = 0; i < SLI_ESTIMATE_SETTINGS && text != NULL; i++) {
        const sli_estimate_setting *setting = &sli_estimate_settings[i];
        bool is_axis = setting == sweep->axes[0].setting ||
                       (sweep->axis_count == 2 && setting == sweep->axes[1].setting);
        const char *value = is_axis ? NULL : setting->say(arena, query);
        if (value != NULL) {
            text = sli_arena_printf(arena, "%s%s%s %s", text, text[0] != '\0' ? " · " : "",
                                    setting->name, value);
        }
    }
    return text;
}

sli_sweep_shown sli_sweep_shows(const sli_sweep *sweep) {
    sli_sweep_shown shown = {0};
    for (size_t i = 0; i < sweep->rows * sweep->columns; i++) {
        shown.has_time |= sweep->points[i].estimate.step.floor_ns >= 0.0;
        shown.has_fit |= sweep->points[i].query.device != NULL;
    }
    return shown;
}

/* ---- For people ---- */

enum { LABEL_COLUMNS = 20, CELL_COLUMNS = 13, BAR_COLUMNS = 24 };

static sli_number say_fitting(const sli_sweep_point *at) {
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

static double largest_total(const sli_sweep *s) {
    double largest = 1.0;
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        largest = fmax(largest, (double)s->points[i].estimate.cache.total_bytes);
    }
    return largest;
}

static void print_line(FILE *file, sli_arena *arena, const sli_sweep *s, size_t i,
                       sli_sweep_shown shown) {
    const sli_sweep_point *at = &s->points[i];
    const sli_estimate *estimate = &at->estimate;
    fprintf(file, "  %*s%*s%*s", LABEL_COLUMNS, sli_sweep_label(arena, &s->axes[0], i, at),
            CELL_COLUMNS, sli_say_bytes((double)estimate->cache.request_bytes).text, CELL_COLUMNS,
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

static void print_lines(FILE *file, sli_arena *arena, const sli_sweep *s) {
    sli_sweep_shown shown = sli_sweep_shows(s);
    fprintf(file, "  %*s%*s%*s", LABEL_COLUMNS, s->axes[0].setting->name, CELL_COLUMNS, "a request",
            CELL_COLUMNS, "all requests");
    fprintf(file, "%*s", shown.has_time ? CELL_COLUMNS : 0, shown.has_time ? "step, least" : "");
    fprintf(file, "%*s\n", shown.has_fit ? CELL_COLUMNS : 0, shown.has_fit ? "at most fit" : "");
    for (size_t i = 0; i < s->rows; i++) {
        print_line(file, arena, s, i, shown);
    }
}

static sli_number say_total(const sli_sweep_point *at) {
    return sli_say_bytes((double)at->estimate.cache.total_bytes);
}

static sli_number say_floor(const sli_sweep_point *at) {
    return sli_say_time(at->estimate.step.floor_ns);
}

/* So wide that the names of the second axis stand apart. */
static int find_cell_columns(sli_arena *arena, const sli_sweep *s) {
    int widest = CELL_COLUMNS;
    for (size_t j = 0; j < s->columns; j++) {
        int width = sli_columns(sli_sweep_label(arena, &s->axes[1], j, &s->points[j])) + 2;
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_grid(FILE *file, sli_arena *arena, const sli_sweep *s, const char *title,
                       sli_number (*say)(const sli_sweep_point *at)) {
    int width = find_cell_columns(arena, s);
    fprintf(file, "\n  %s\n\n  %*s", title, LABEL_COLUMNS, "");
    fprintf(file, "%*s\n", width, s->axes[1].setting->name);
    fprintf(file, "  %*s", LABEL_COLUMNS, s->axes[0].setting->name);
    for (size_t j = 0; j < s->columns; j++) {
        fprintf(file, "%*s", width, sli_sweep_label(arena, &s->axes[1], j, &s->points[j]));
    }
    for (size_t i = 0; i < s->rows; i++) {
        const sli_sweep_point *row = &s->points[i * s->columns];
        fprintf(file, "\n  %*s", LABEL_COLUMNS, sli_sweep_label(arena, &s->axes[0], i, row));
        for (size_t j = 0; j < s->columns; j++) {
            fprintf(file, "%*s", width, say(&row[j]).text);
        }
    }
    fputc('\n', file);
}

static void print_grids(FILE *file, sli_arena *arena, const sli_sweep *s) {
    sli_sweep_shown shown = sli_sweep_shows(s);
    print_grid(file, arena, s, "cache of all requests", say_total);
    if (shown.has_time) {
        print_grid(file, arena, s, "a decode step takes at least", say_floor);
    }
    if (shown.has_fit) {
        print_grid(file, arena, s, "requests that fit at most", say_fitting);
    }
}

static int print_text(FILE *file, sli_arena *arena, const sli_sweep *s) {
    const char *heading = sli_sweep_heading(arena, s);
    fprintf(file, "%s\n", heading != NULL ? heading : "");
    if (s->axis_count == 2) {
        print_grids(file, arena, s);
    } else {
        fputc('\n', file);
        print_lines(file, arena, s);
    }
    return fflush(file) == 0 ? 0 : sli_exit_code(SL_ERR_IO);
}

/* ---- For programs ---- */

static int print_json(FILE *file, const sli_sweep *s) {
    sli_json json;
    sli_json_init(&json, file);
    sli_json_open_array(&json, NULL);
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        sli_estimate_print_json(&json, NULL, &s->points[i].query, &s->points[i].estimate);
    }
    sli_json_close_array(&json);
    return sli_exit_code(sli_json_finish(&json));
}

/* ---- All of it ---- */

static int write_plot(sli_estimate_input *input, const sli_sweep *s, sli_file *file) {
    sl_err err = sli_sweep_plot(&input->arena, s, file->stream);
    if (err == SL_OK || err == SL_ERR_IO) {
        err = sli_file_finish(file, err == SL_OK ? 0 : errno, &input->diag);
    }
    if (err == SL_OK) {
        err = sli_file_commit(file, &input->diag);
    }
    return err != SL_OK ? sli_report_failure(err, &input->diag) : 0;
}

static int answer(sli_estimate_input *input, sli_sweep *s, bool as_json, sli_file *plot) {
    int code = find_points(input, s);
    if (code == 0 && plot != NULL) {
        code = write_plot(input, s, plot);
    }
    if (code != 0) {
        return code;
    }
    return as_json ? print_json(stdout, s) : print_text(stdout, &input->arena, s);
}

int sli_estimate_sweep(sli_estimate_input *input, const sli_axis *axes, size_t axis_count,
                       const sli_sweep_output *output) {
    sli_sweep s = {.axes = axes,
                   .axis_count = axis_count,
                   .rows = axes[0].count,
                   .columns = axis_count == 2 ? axes[1].count : 1};
    s.points = sli_arena_array(&input->arena, s.rows * s.columns, sizeof *s.points);
    if (s.points == NULL) {
        return sli_report_failure(SL_ERR_NOMEM, &input->diag);
    }
    if (output->plot_path == NULL) {
        return answer(input, &s, output->as_json, NULL);
    }
    sli_file plot;
    sl_err err = sli_file_open(&plot, output->plot_path, "--plot", output->replaces, &input->diag);
    if (err != SL_OK) {
        return sli_report_failure(err, &input->diag);
    }
    int code = answer(input, &s, output->as_json, &plot);
    sli_file_fini(&plot);
    return code;
}
