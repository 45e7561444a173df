/*
 * What becomes of a number that is stored in few bits.
 *
 * Floor model. The uniform quantiser between two bounds: b bits name 2^b levels, both bounds among
 * them, and a number is stored as the nearest one (of two, the even one); what lies outside of the
 * bounds as the bound. With scale = (high - low) / (2^b - 1) the level is round((x - low) / scale)
 * and the number that is read back low + level x scale: affine quantisation as in Jacob et al.,
 * CVPR 2018, whose zero point is not rounded here. Must not know which formats there are: they
 * have groups and scales of their own (model/format.h). O(1).
 */
#ifndef SLUICE_MODEL_ROUNDING_H
#define SLUICE_MODEL_ROUNDING_H

#include <stdint.h>

enum { SLI_ROUNDING_BITS_MAX = 16 };

typedef struct sli_rounding {
    int64_t levels;
    int64_t level; /* 0 .. levels - 1 */
    double scale;  /* from a level to the next */
    double value;  /* that is read back */
    double error;  /* how far off it is, never negative; at most scale / 2 between the bounds */
} sli_rounding;

/* 1 <= bits <= SLI_ROUNDING_BITS_MAX, low < high, all finite. */
sli_rounding sli_rounding_uniform(double number, double low, double high, int bits);

#endif
