/*
 * A matrix product on a CPU: product = scale x left right^T, of bf16 or e4m3, sums in f32.
 *
 * Panels of 32 columns go to threads (OpenMP), each with all rows: see cpu/panel.h. Plain C; knows
 * no kernel. The caller owns all memory but a copy of the left operand as floats; without memory
 * nothing is computed and the answer is false.
 */
#ifndef KREF_BENCH_CPU_GEMM_H
#define KREF_BENCH_CPU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kref_cpu_product {
    const void *left;  /* [m][k] */
    const void *right; /* [n][k] */
    uint16_t *product; /* [m][n], bf16 */
    int element_bytes; /* 2 = bf16, 1 = e4m3 */
    int m;
    int n;
    int k;
    float scale;
} kref_cpu_product;

bool kref_cpu_gemm(const kref_cpu_product *product);

#ifdef __cplusplus
}
#endif

#endif
