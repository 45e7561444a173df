/*
 * Estimates over one or two axes.
 *
 * Floor cli. An axis is a setting of estimate_query.h and the values that it takes, as
 * `tokens=1024,32Ki`. One axis prints a line a value, with a bar as long as the cache; two print
 * grids, the first axis down, the second across.
 */
#ifndef SLUICE_CLI_ESTIMATE_SWEEP_H
#define SLUICE_CLI_ESTIMATE_SWEEP_H

#include "cli/estimate_query.h"

#include <stdio.h>

enum { SLI_AXES_MAX = 2, SLI_AXIS_VALUES_MAX = 64 };

typedef struct sli_axis {
    const sli_estimate_setting *setting;
    const char *values[SLI_AXIS_VALUES_MAX]; /* in the arena of the input */
    size_t count;
} sli_axis;

/* Reads `NAME=VALUE,...`; false after a message on stderr. */
bool sli_axis_read(sli_estimate_input *input, const char *text, sli_axis *axis);

/* Answers the exit code. What does not fit is no mistake here. */
int sli_estimate_sweep(sli_estimate_input *input, const sli_axis *axes, size_t axis_count,
                       bool as_json, FILE *file);

#endif
