/*
 * Prefill and paged decode attention on a CPU: the operations of their headers in cuda/, on bf16,
 * with scores, weights and sums in f32.
 *
 * Tiles of 16 queries, or of the query heads that share a key-value head, go to threads (OpenMP);
 * each walks over its keys 32 at a time with an online softmax, in vectors. Plain C; knows no
 * kernel. Tests hold them against the oracles. The caller owns all memory.
 */
#ifndef KREF_BENCH_CPU_ATTENTION_H
#define KREF_BENCH_CPU_ATTENTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KREF_CPU_HEAD_DIM_MAX = 256 };

typedef struct kref_cpu_heads {
    int query_heads;
    int kv_heads;
    int head_dim;      /* at most KREF_CPU_HEAD_DIM_MAX */
    int window_tokens; /* 0 = all */
    float scale;
} kref_cpu_heads;

typedef struct kref_cpu_prefill {
    kref_cpu_heads heads;
    const uint16_t *queries; /* [query tokens][query_heads][head_dim] */
    const uint16_t *keys;    /* [key tokens][kv_heads][head_dim] */
    const uint16_t *values;
    const int32_t *query_starts; /* [sequences + 1] */
    const int32_t *key_starts;   /* [sequences + 1] */
    uint16_t *outputs;           /* as queries */
    int sequences;
    int queries_max; /* of a sequence */
} kref_cpu_prefill;

void kref_cpu_prefill_attention(const kref_cpu_prefill *prefill);

typedef struct kref_cpu_decode {
    kref_cpu_heads heads;
    const uint16_t *queries;   /* [sequences][query_heads][head_dim] */
    const uint16_t *key_cache; /* [blocks][block_tokens][kv_heads][head_dim] */
    const uint16_t *value_cache;
    const int32_t *block_table; /* [sequences][blocks_max] */
    const int32_t *lengths;     /* [sequences] */
    uint16_t *outputs;          /* as queries */
    int sequences;
    int block_tokens;
    int blocks_max;
} kref_cpu_decode;

void kref_cpu_decode_attention(const kref_cpu_decode *decode);

#ifdef __cplusplus
}
#endif

#endif
