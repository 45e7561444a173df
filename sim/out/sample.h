/*
 * The values of one metric: a histogram always, the values themselves when asked for.
 *
 * Floor out. With the values kept, quantiles are exact; without, they carry the relative error of
 * the histogram (SLI_HIST_RELATIVE_ERROR). Count, mean and maximum are exact either way. A value is
 * an int64_t >= 0. Adding is amortised O(1) and allocates only when the sample grows.
 */
#ifndef SLUICE_OUT_SAMPLE_H
#define SLUICE_OUT_SAMPLE_H

#include "kernel/hist.h"
#include "sluice/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed is valid and empty. Owns its memory. */
typedef struct sli_sample {
    sli_hist hist;
    int64_t *values; /* in order of addition; only if keeps_values */
    size_t value_capacity;
    bool keeps_values; /* set before the first value */
} sli_sample;

/* What a table shows of a sample. Meaningless when count is 0. */
typedef struct sli_spread {
    int64_t count;
    bool is_exact; /* the quantiles are of the values, not of a histogram */
    double mean;
    double p50;
    double p90;
    double p95;
    double p99;
    int64_t max;
} sli_spread;

void sli_sample_fini(sli_sample *sample);

/* Adds `count` times the value; the values of a keeping sample are added one at a time. */
SL_NODISCARD sl_err sli_sample_add(sli_sample *sample, int64_t value, uint64_t count);

/* Zeroed when the sample is empty. O(n log n) if the values are kept, on a copy of them. */
SL_NODISCARD sl_err sli_sample_summarise(const sli_sample *sample, sli_spread *spread);

#endif
