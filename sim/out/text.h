/*
 * The summary of a run for people.
 *
 * Floor out. UTF-8, at most about 100 columns. A line appears only when it means something: no
 * prefix line without an admitted request, no SLO line without an objective. Each row of times has
 * the unit that reads best; the quantiles say when they come from a histogram.
 */
#ifndef SLUICE_OUT_TEXT_H
#define SLUICE_OUT_TEXT_H

#include "out/facts.h"
#include "out/metrics.h"
#include "sluice/err.h"

#include <stdio.h>

/* SL_ERR_IO when the stream failed. */
SL_NODISCARD sl_err sli_text_write(FILE *file, const sli_run_facts *facts,
                                   const sli_metrics *metrics);

#endif
