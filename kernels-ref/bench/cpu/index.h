/*
 * The index of sparse attention on a CPU: scores of paged keys, and the places of the greatest.
 * The operations of cuda/index_scores.h and cuda/select_top.h, sums in f32.
 *
 * Plain C; knows no kernel. Tests hold it against the oracle. The caller owns all memory.
 */
#ifndef KREF_BENCH_CPU_INDEX_H
#define KREF_BENCH_CPU_INDEX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KREF_CPU_INDEX_WIDTH = 128 };

typedef struct kref_cpu_index {
    const uint16_t *queries;    /* [sequences][heads][128] */
    const float *weights;       /* [sequences][heads] */
    const uint16_t *keys;       /* [blocks][block_tokens][128], or NULL */
    const uint8_t *key_codes;   /* then e4m3, [blocks][block_tokens][128], */
    const float *key_scales;    /* with a scale each, [blocks][block_tokens] */
    const int32_t *block_table; /* [sequences][blocks_max] */
    const int32_t *lengths;     /* [sequences] */
    float *scores;              /* [sequences][tokens_max]; behind a length nothing */
    int sequences;
    int heads;
    int block_tokens;
    int blocks_max;
    int tokens_max;
} kref_cpu_index;

void kref_cpu_index_scores(const kref_cpu_index *it);

/* numbers [rows][width], lengths [rows]; chosen [rows][top], in rising order, then -1. */
void kref_cpu_select_top(const float *numbers, const int32_t *lengths, int32_t *chosen, int rows,
                         int width, int top);

#ifdef __cplusplus
}
#endif

#endif
