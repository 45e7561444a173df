/*
 * A mixture of experts in double precision, step by step: the oracles of router, expert_order,
 * expert_gemm and expert_sum. Their definitions stand in the headers of these kernels.
 *
 * A tolerance is what a kernel may be off that computes in f32 (u = 2^-24), to first order. Plain
 * C; knows no kernel. The caller owns all memory. O(elements of the inputs), unless said otherwise.
 */
#ifndef KREF_ORACLE_EXPERTS_H
#define KREF_ORACLE_EXPERTS_H

#include "oracle/expected.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One token: the `top_k` experts with the greatest scores, of equal ones the first, and their
 * weights. Where the scores spread over r, an exponential is off by (4 r + 4) u, a sum of n of them
 * by n u more, and the quotient by what both sides are: a weight by (8 r + n + 16) u of itself.
 * O(experts x top_k).
 */
void kref_route(const double *scores, int experts, int top_k, bool is_normalised, int32_t *chosen,
                const kref_expected *weights);

/* Which pairs an expert has: order[starts[e]] .. order[starts[e + 1] - 1], in their own order; and
 * the place of each pair. starts has experts + 1 entries. O(pairs + experts). */
void kref_expert_order(const int32_t *chosen, int pairs, int experts, int32_t *starts,
                       int32_t *order, int32_t *places);

typedef struct kref_experts {
    const int32_t *starts;
    const int32_t *order;
    int experts;
    int top_k; /* 0 = rows lie at their places */
    int n;
    int k;
} kref_experts;

/* rows [tokens or pairs][k], weights [experts][n][k]: product [pairs][n], at their places. The
 * tolerance is that of oracle/gemm.h. O(pairs n k). */
void kref_expert_gemm(const kref_experts *experts, const double *rows, const double *weights,
                      const kref_expected *expected);

/* One token: the weighted rows of its `top_k` places. Off by (top_k + 1) u sum |weight row|. */
void kref_expert_sum(const double *rows, const int32_t *places, const double *weights, int top_k,
                     int width, const kref_expected *expected);

#ifdef __cplusplus
}
#endif

#endif
