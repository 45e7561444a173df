/*
 * The smaller and the larger of two numbers.
 *
 * Floor base. Pure functions.
 */
#ifndef SLUICE_BASE_MINMAX_H
#define SLUICE_BASE_MINMAX_H

#include <stdint.h>

static inline int64_t sli_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t sli_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

#endif
