/*
 * Estimates over one or two axes.
 *
 * Floor cli. An axis is a setting of estimate_query.h and the values that it takes, as
 * `tokens=1024,32Ki`. What can be asked of some points only is answered for these; a sweep without
 * any is refused. Tables are in estimate_table.h; a plot of them goes to a file as well.
 */
#ifndef SLUICE_CLI_ESTIMATE_SWEEP_H
#define SLUICE_CLI_ESTIMATE_SWEEP_H

#include "cli/estimate_query.h"

enum { SLI_AXES_MAX = 2, SLI_AXIS_VALUES_MAX = 64 };

typedef struct sli_axis {
    const sli_estimate_setting *setting;
    const char *values[SLI_AXIS_VALUES_MAX]; /* in the arena of the input */
    size_t count;
} sli_axis;

/* Reads `NAME=VALUE,...`; false after a message on stderr. */
bool sli_axis_read(sli_estimate_input *input, const char *text, sli_axis *axis);

typedef struct sli_sweep_point {
    sli_estimate_query query;
    sli_estimate estimate;
    const char *refusal; /* why there is no estimate, in the arena of the input; NULL = there is */
} sli_sweep_point;

/* rows x columns of them; one axis has one column. */
typedef struct sli_sweep {
    const sli_axis *axes;
    size_t axis_count;
    size_t rows;
    size_t columns;
    sli_sweep_point *points;
} sli_sweep;

/* The value of an axis at a point that has its i-th, as a short text in the arena. */
const char *sli_sweep_label(sli_arena *arena, const sli_axis *axis, size_t i,
                            const sli_sweep_point *at);

/* What all points have in common, as one line in the arena; NULL when memory is out. */
const char *sli_sweep_heading(sli_arena *arena, const sli_sweep *sweep);

/* A column or a panel appears when any point has something to say in it. */
typedef struct sli_sweep_shown {
    bool has_time; /* that a step takes at least */
    bool has_fit;  /* how many requests fit */
} sli_sweep_shown;

sli_sweep_shown sli_sweep_shows(const sli_sweep *sweep);

typedef struct sli_sweep_output {
    bool as_json;
    const char *plot_path; /* of an SVG; NULL = none */
    bool replaces;         /* a plot that exists */
} sli_sweep_output;

/* Prints to stdout; answers the exit code. What does not fit is no mistake here. */
int sli_estimate_sweep(sli_estimate_input *input, const sli_axis *axes, size_t axis_count,
                       const sli_sweep_output *output);

#endif
