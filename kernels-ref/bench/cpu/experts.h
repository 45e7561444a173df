/*
 * A mixture of experts on a CPU: router, order, product of the experts, sum. The operations of
 * cuda/router.h, expert_order.h, expert_gemm.h and expert_sum.h, on bf16, with sums in f32. Tokens,
 * and panels of 32 columns of an expert, go to threads (OpenMP); one thread sorts.
 *
 * Plain C; knows no kernel. Tests hold it against the oracles. The caller owns all memory but a
 * copy of the rows as floats; without memory nothing is computed and the answer is false.
 */
#ifndef KREF_BENCH_CPU_EXPERTS_H
#define KREF_BENCH_CPU_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KREF_CPU_EXPERTS_MAX = 1024 };

/* scores [tokens][experts]; chosen and weights [tokens][top_k]. */
void kref_cpu_route(const float *scores, int32_t *chosen, float *weights, int tokens, int experts,
                    int top_k, bool is_normalised);

/* chosen, order and places [pairs], starts [experts + 1]. */
void kref_cpu_expert_order(const int32_t *chosen, int pairs, int experts, int32_t *starts,
                           int32_t *order, int32_t *places);

typedef struct kref_cpu_expert_product {
    const uint16_t *rows;    /* [tokens][k]; with top_k = 0 [pairs][k], at their places */
    const uint16_t *weights; /* [experts][n][k] */
    const int32_t *starts;   /* [experts + 1] */
    const int32_t *order;    /* [pairs] */
    uint16_t *product;       /* [pairs][n], at their places */
    int pairs;
    int experts;
    int top_k;
    int n;
    int k;
} kref_cpu_expert_product;

bool kref_cpu_expert_gemm(const kref_cpu_expert_product *it);

/* rows [tokens top_k][width], places and weights [tokens][top_k]; sums [tokens][width]. */
void kref_cpu_expert_sum(const uint16_t *rows, const int32_t *places, const float *weights,
                         uint16_t *sums, int tokens, int top_k, int width);

#ifdef __cplusplus
}
#endif

#endif
