/*
 * Log-linear histograms: quantiles of any number of values in fixed memory.
 *
 * Floor kernel. Values are int64_t >= 0. Each octave is cut into 128 equal buckets, values below
 * 256 are exact, and a quantile answers the middle of its bucket: the relative error is at most
 * 1/256 (0.4 %). Mean, minimum and maximum are exact.
 */
#ifndef SLUICE_KERNEL_HIST_H
#define SLUICE_KERNEL_HIST_H

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

#define SLI_HIST_RELATIVE_ERROR (1.0 / 256.0)

typedef struct sli_hist {
    uint64_t *counts; /* NULL until the first value */
    uint64_t count;
    __extension__ unsigned __int128 sum;
    int64_t min;
    int64_t max;
} sli_hist;

/* Zeroed is valid and empty. */
void sli_hist_fini(sli_hist *hist);

/* Adds `count` times the value. Allocates its buckets (some 60 KB) at the first call. */
SL_NODISCARD sl_err sli_hist_add(sli_hist *hist, int64_t value, uint64_t count);

/* Undefined on an empty histogram. */
double sli_hist_mean(const sli_hist *hist);

/*
 * The quantile p in [0, 1] by linear interpolation between order statistics, h = (n - 1) p, each
 * order statistic answered by the middle of its bucket, clamped to [min, max].
 */
double sli_hist_quantile(const sli_hist *hist, double p);

/* The same definition on sorted values, exact. */
double sli_sorted_quantile(const int64_t *sorted, size_t count, double p);

#endif
