#include "cli/estimate_plot.h"

#include "base/units.h"
#include "out/plot.h"

#include <math.h>
#include <string.h>

/* ---- Axes ---- */

/* An axis of the sweep, as the plot wants it. */
typedef struct names {
    const sli_axis *axis;
    const char **texts;
    double *numbers;
    size_t stride; /* from a point to the one with the next value */
    bool has_numbers;
} names;

/* 32,768 and 3 TB/s. */
static bool read_number(const char *label, double *number) {
    char plain[64];
    size_t length = 0;
    for (; *label != '\0' && length + 1 < sizeof plain; label++) {
        if (*label != ',') {
            plain[length++] = *label;
        }
    }
    plain[length] = '\0';
    return sli_parse_real(plain, SL_DIM_NONE, number) == SLI_UNIT_OK ||
           sli_parse_real(plain, SL_DIM_BYTES_PER_S, number) == SLI_UNIT_OK;
}

static sl_err read_names(sli_arena *arena, const sli_sweep *sweep, const sli_axis *axis,
                         size_t stride, names *read) {
    *read = (names){.axis = axis, .stride = stride, .has_numbers = true};
    read->texts = sli_arena_array(arena, axis->count, sizeof *read->texts);
    read->numbers = sli_arena_array(arena, axis->count, sizeof *read->numbers);
    if (read->texts == NULL || read->numbers == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < axis->count; i++) {
        read->texts[i] = sli_sweep_label(arena, axis, i, &sweep->points[i * stride]);
        read->has_numbers = read->has_numbers && read_number(read->texts[i], &read->numbers[i]) &&
                            (i == 0 || read->numbers[i] > read->numbers[i - 1]);
    }
    return SL_OK;
}

/* ---- Panels ---- */

typedef struct figure {
    const char *title;
    sli_quantity quantity;
    double (*of)(const sli_estimate *estimate); /* NAN = none */
} figure;

static double cache_of(const sli_estimate *estimate) {
    return (double)estimate->cache.total_bytes;
}

static double step_of(const sli_estimate *estimate) {
    return estimate->step.floor_ns >= 0.0 ? estimate->step.floor_ns : NAN;
}

static double fit_of(const sli_estimate *estimate) {
    int64_t requests = estimate->fit.max_requests;
    return requests == SLI_UNBOUNDED ? NAN : (double)requests;
}

static const figure cache_figure = {"cache of all requests", SLI_QUANTITY_BYTES, cache_of};
static const figure step_figure = {"a decode step takes at least", SLI_QUANTITY_NS, step_of};
static const figure fit_figure = {"requests that fit at most", SLI_QUANTITY_COUNT, fit_of};

enum { PANELS_MAX = 3 };

/* `across` is NULL for a sweep of one axis. */
static sl_err add_panel(sli_arena *arena, const sli_sweep *sweep, const names *along,
                        const names *across, const figure *shown, sli_plot_panel *panel) {
    size_t places = along->axis->count;
    size_t series = across != NULL ? across->axis->count : 1;
    double *values = sli_arena_array(arena, series * places, sizeof *values);
    if (values == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < series; i++) {
        for (size_t j = 0; j < places; j++) {
            size_t at = j * along->stride + (across != NULL ? i * across->stride : 0);
            const sli_sweep_point *point = &sweep->points[at];
            values[i * places + j] = point->refusal == NULL ? shown->of(&point->estimate) : NAN;
        }
    }
    *panel = (sli_plot_panel){shown->title, shown->quantity, values};
    return SL_OK;
}

static sl_err add_panels(sli_arena *arena, const sli_sweep *sweep, const names *along,
                         const names *across, sli_plot_panel *panels, size_t *count) {
    sli_sweep_shown shows = sli_sweep_shows(sweep);
    const figure *shown[PANELS_MAX] = {&cache_figure, shows.has_time ? &step_figure : NULL,
                                       shows.has_fit ? &fit_figure : NULL};
    for (int i = 0; i < PANELS_MAX; i++) {
        if (shown[i] != NULL) {
            SL_TRY(add_panel(arena, sweep, along, across, shown[i], &panels[(*count)++]));
        }
    }
    return SL_OK;
}

/* ---- The plot ---- */

static sl_err draw(sli_arena *arena, const sli_sweep *sweep, const names *along,
                   const names *across, FILE *file) {
    static const char *const nameless[] = {""};
    sli_plot_panel panels[PANELS_MAX];
    sli_plot plot = {
        .subtitle = sli_sweep_heading(arena, sweep),
        .x_title = along->axis->setting->name,
        .places = along->texts,
        .x = along->has_numbers ? along->numbers : NULL,
        .place_count = along->axis->count,
        .series_title = across != NULL ? across->axis->setting->name : "",
        .series = across != NULL ? across->texts : nameless,
        .series_count = across != NULL ? across->axis->count : 1,
        .panels = panels,
    };
    plot.title = sli_arena_printf(arena, "Estimate by %s%s%s", plot.x_title,
                                  across != NULL ? " and " : "", plot.series_title);
    if (plot.title == NULL || plot.subtitle == NULL) {
        return SL_ERR_NOMEM;
    }
    SL_TRY(add_panels(arena, sweep, along, across, panels, &plot.panel_count));
    return sli_plot_write(&plot, file);
}

sl_err sli_sweep_plot(sli_arena *arena, const sli_sweep *sweep, FILE *file) {
    names rows;
    names columns;
    SL_TRY(read_names(arena, sweep, &sweep->axes[0], sweep->columns, &rows));
    if (sweep->axis_count == 1) {
        return draw(arena, sweep, &rows, NULL, file);
    }
    SL_TRY(read_names(arena, sweep, &sweep->axes[1], 1, &columns));
    bool is_turned = columns.has_numbers && !rows.has_numbers;
    return is_turned ? draw(arena, sweep, &columns, &rows, file)
                     : draw(arena, sweep, &rows, &columns, file);
}
