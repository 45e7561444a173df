/*
 * Distributions of lengths and times.
 *
 * Floor kernel. A distribution is plain data; one draw takes the stream that it is given and
 * nothing else. Means are those of the distribution asked for, before rounding to whole tokens.
 */
#ifndef SLUICE_KERNEL_DIST_H
#define SLUICE_KERNEL_DIST_H

#include "kernel/rng.h"

#include <stddef.h>

typedef enum sli_dist_kind {
    SLI_DIST_FIXED,
    SLI_DIST_UNIFORM,     /* [min, max], both reachable as whole tokens */
    SLI_DIST_EXPONENTIAL, /* mean */
    SLI_DIST_LOGNORMAL,   /* mean and coefficient of variation of the variable itself */
    SLI_DIST_QUANTILES,   /* an empirical table, linear between its points */
} sli_dist_kind;

/* A point of a quantile table: a share `frac` of the values is at most `value`. */
typedef struct sli_quantile {
    double frac;
    int64_t value;
} sli_quantile;

typedef struct sli_dist {
    sli_dist_kind kind;
    int64_t value; /* fixed */
    int64_t min;   /* uniform */
    int64_t max;
    double mean;                   /* exponential, lognormal */
    double cv;                     /* lognormal: standard deviation / mean, > 0 */
    const sli_quantile *quantiles; /* frac strictly increasing from 0 to 1, values non-decreasing */
    size_t quantile_count;
} sli_dist;

/* A whole number >= 1, rounded to nearest. */
int64_t sli_dist_draw(const sli_dist *dist, sli_rng *rng);

#endif
