/*
 * rms_norm, rope and activation on a CPU: the operations of their headers in cuda/, on bf16, with
 * sums in f32. Rows go to threads (OpenMP), elements to vectors.
 *
 * Plain C; knows no kernel. Tests hold them against the oracles, within the kernels' tolerances.
 * The caller owns all memory.
 */
#ifndef KREF_BENCH_CPU_ELEMENTWISE_H
#define KREF_BENCH_CPU_ELEMENTWISE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kref_cpu_norm {
    uint16_t *stream;       /* [rows][width] */
    const uint16_t *update; /* [rows][width] or NULL */
    const uint16_t *weight; /* [width] */
    uint16_t *normed;       /* [rows][width] */
    int rows;
    int width;
    float epsilon;
} kref_cpu_norm;

void kref_cpu_rms_norm(const kref_cpu_norm *norm);

typedef struct kref_cpu_turn {
    uint16_t *queries;      /* [tokens][query_heads][head_dim] */
    const uint16_t *keys;   /* [tokens][kv_heads][head_dim] */
    const uint16_t *values; /* [tokens][kv_heads][head_dim] */
    uint16_t *key_cache;    /* [slots][kv_heads][head_dim] */
    uint16_t *value_cache;
    const int32_t *positions;
    const int32_t *slots; /* -1 = not written */
    const float *turns;   /* [positions][head_dim]: cosines, then sines */
    int tokens;
    int query_heads;
    int kv_heads;
    int head_dim;
} kref_cpu_turn;

void kref_cpu_rope(const kref_cpu_turn *turn);

/* input [rows][2 width] if it is gated, else [rows][width]; has_tanh: GELU, else SiLU. */
void kref_cpu_activation(const uint16_t *input, uint16_t *output, int rows, int width,
                         bool has_tanh, bool is_gated);

#ifdef __cplusplus
}
#endif

#endif
