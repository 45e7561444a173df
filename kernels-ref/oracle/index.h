/*
 * The index of sparse attention in double precision: the oracle of index_scores and select_top,
 * whose headers have the definitions.
 *
 * A score computed from bf16 in f32, u = 2^-24, is off by at most
 *     sum over heads |weight| 2 (width + heads + 4) u sum |q k|:
 * products and sums of one head, then those over the heads, each maybe cut off; what is below zero
 * moves no further than what is above.
 *
 * Plain C; knows no kernel. The caller owns all memory.
 */
#ifndef KREF_ORACLE_INDEX_H
#define KREF_ORACLE_INDEX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One query and one key. queries [heads][width], weights [heads]. O(heads width). */
double kref_index_score(int heads, int width, const double *queries, const double *weights,
                        const double *key, double *tolerance);

/* The places of the `top` greatest of `count` numbers in rising order, then -1; of equals the
 * first. O(count^2). */
void kref_select_top(const double *numbers, int count, int top, int32_t *chosen);

#ifdef __cplusplus
}
#endif

#endif
