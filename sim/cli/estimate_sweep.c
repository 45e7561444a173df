#include "cli/estimate_sweep.h"

#include "cli/command.h"
#include "cli/estimate_plot.h"
#include "cli/estimate_print.h"
#include "cli/estimate_table.h"
#include "cli/numbers.h"
#include "out/file.h"

#include <errno.h>
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

/* A point that cannot be is no reason to say nothing of the others. */
static int find_point(sli_estimate_input *input, sli_sweep_point *found) {
    if (input->query.architecture == NULL) {
        fputs("sluice estimate: a model is needed\n", stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    sli_diag said = {0};
    *found = (sli_sweep_point){.refusal = NULL};
    sl_err err = sli_estimate_input_query(input, &said, &found->query);
    if (err == SL_OK) {
        err = sli_estimate_find(&found->query, &said, &found->estimate);
    }
    if (err != SL_OK && said.last != NULL) {
        found->refusal = sli_arena_strdup(&input->arena, said.last->message);
        err = found->refusal != NULL ? SL_OK : SL_ERR_NOMEM;
    }
    sli_diag_fini(&said);
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

/* Where no point can be the sweep is a mistake, as its first point is alone. */
static int check_points(sli_estimate_input *input, const sli_sweep *s) {
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        if (s->points[i].refusal == NULL) {
            return 0;
        }
    }
    sli_diag_error(&input->diag, (sli_mark){0}, NULL, "%s", s->points[0].refusal);
    return sli_report_failure(SL_ERR_CONFIG, &input->diag);
}

/* ---- What is said of them ---- */

/* What a setting has nothing to say of, as a prefix of 0, is shown as it was given, numbers as all
 * others. */
const char *sli_sweep_label(sli_arena *arena, const sli_axis *axis, size_t i,
                            const sli_sweep_point *at) {
    const char *label = axis->setting->say(arena, &at->query);
    int64_t count = 0;
    if (label == NULL && sli_read_amount(axis->values[i], SL_DIM_TOKENS, &count)) {
        label = sli_arena_strdup(arena, sli_say_count(count).text);
    }
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
        const sli_sweep_point *at = &sweep->points[i];
        bool can_be = at->refusal == NULL;
        shown.has_time |= can_be && at->estimate.step.floor_ns >= 0.0;
        shown.has_fit |= can_be && at->query.device != NULL;
    }
    return shown;
}

/* ---- For programs ---- */

static int print_json(FILE *file, const sli_sweep *s) {
    sli_json json;
    sli_json_init(&json, file);
    sli_json_open_array(&json, NULL);
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        const sli_sweep_point *at = &s->points[i];
        if (at->refusal != NULL) {
            sli_estimate_print_refusal(&json, &at->query, at->refusal);
        } else {
            sli_estimate_print_json(&json, NULL, &at->query, &at->estimate);
        }
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
    code = code == 0 ? check_points(input, s) : code;
    if (code == 0 && plot != NULL) {
        code = write_plot(input, s, plot);
    }
    if (code != 0) {
        return code;
    }
    if (as_json) {
        return print_json(stdout, s);
    }
    sli_sweep_print(stdout, &input->arena, s);
    return fflush(stdout) == 0 ? 0 : sli_exit_code(SL_ERR_IO);
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
