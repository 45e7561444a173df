/*
 * From samples to a row of measurements.
 */
#ifndef KREF_BENCH_MEASURE_H
#define KREF_BENCH_MEASURE_H

#include "bench/kernel.h"

namespace kref::bench {

/* The p quantile of numbers in ascending order: linear between them, at (n - 1) p. */
double quantile(const std::vector<double> &sorted, double p);

/* Puts samples into a row, and the shares of the peaks that it has. The samples are sorted. */
void put_samples(std::vector<double> *times_ns, sli_measurement *row);

/* Why nothing was measured. */
enum class outcome { measured, refused, too_large, failed };

/* Why a kernel cannot be measured at a shape, or null. */
const char *shape_refusal(const kernel &its, const shape &of);

/*
 * Measures a kernel at a shape. The texts of the row are those of the shape and of the backend, and
 * `date` as it is. What went wrong is in *error, in words that live as long as the backend.
 */
outcome measure(const kernel &its, const shape &of, backend &on, const sampling &how,
                const char *date, sli_measurement *row, const char **error);

} // namespace kref::bench

#endif
