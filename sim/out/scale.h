/*
 * The scale of an axis: from where to where, and its ticks.
 *
 * Floor out. A scale begins at 0, or is logarithmic when the largest value is more than 100 times
 * the least and all are positive. Ticks are round numbers of the quantity: powers of two of bytes,
 * else 1, 2 and 5 times powers of ten; the first and the last are the ends of the scale. Must not
 * know how axes are drawn. No memory; O(values).
 */
#ifndef SLUICE_OUT_SCALE_H
#define SLUICE_OUT_SCALE_H

#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum sli_quantity {
    SLI_QUANTITY_COUNT,
    SLI_QUANTITY_BYTES,
    SLI_QUANTITY_NS,
} sli_quantity;

enum { SLI_TICKS_MAX = 12 };

typedef struct sli_scale {
    sli_quantity quantity;
    bool is_log;
    double low;
    double high;
    double ticks[SLI_TICKS_MAX]; /* rising */
    size_t tick_count;
} sli_scale;

/* The scale of values that are not negative; those that are not finite are left out. */
sli_scale sli_scale_fit(const double *values, size_t count, sli_quantity quantity);

/* Whether positive numbers from low to high are better shown by their logarithms. */
bool sli_scale_wants_log(double low, double high);

/* Where a value stands: 0 at the low end, 1 at the high one. */
double sli_scale_place(const sli_scale *scale, double value);

/* A value with the unit that reads best: 16 GiB, 2.5 ms, 1,000. */
sli_said sli_scale_say(sli_quantity quantity, double value);

#endif
