/*
 * A sweep as a chart.
 *
 * Floor cli. Panels of what the text shows: the cache of all requests, the least time of a step,
 * how many requests fit. Along x runs the first axis, or the second if only that one has numbers;
 * the other gives the lines. An axis has numbers when all its values are, and rise.
 */
#ifndef SLUICE_CLI_ESTIMATE_PLOT_H
#define SLUICE_CLI_ESTIMATE_PLOT_H

#include "cli/estimate_sweep.h"

/* SL_ERR_IO when the stream failed. */
SL_NODISCARD sl_err sli_sweep_plot(sli_arena *arena, const sli_sweep *sweep, FILE *file);

#endif
