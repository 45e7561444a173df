/*
 * Running mean and variance, and confidence intervals by batch means.
 *
 * Floor kernel. Welford's recurrence; the interval uses Student's t from GSL.
 */
#ifndef SLUICE_KERNEL_MOMENTS_H
#define SLUICE_KERNEL_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct sli_moments {
    uint64_t count;
    double mean;
    double m2; /* sum of squared deviations */
} sli_moments;

void sli_moments_add(sli_moments *moments, double value);

/* Unbiased; 0 with fewer than two values. */
double sli_moments_variance(const sli_moments *moments);

typedef struct sli_interval {
    double mean;
    double half_width;
} sli_interval;

/* The t-interval of the mean of independent values, `level` as 0.95. Needs two values. */
sli_interval sli_interval_of(const sli_moments *moments, double level);

/*
 * The interval from one correlated series: the first `drop_frac` is dropped, the rest cut into
 * `batch_count` equal batches (a remainder at the end is dropped), whose means are taken as
 * independent. Law, Simulation Modeling and Analysis, section 9.5.3.
 */
sli_interval sli_batch_means(const double *values, size_t count, double drop_frac,
                             size_t batch_count, double level);

#endif
