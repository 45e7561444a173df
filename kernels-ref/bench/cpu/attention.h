/*
 * Attention on a CPU, prefill and paged decode: keys 32 at a time with an online softmax, in
 * vectors; heads and queries go to threads (OpenMP). Where keys and values come from is another
 * file's concern: cpu/rows.h.
 *
 * Plain C; knows no kernel. Tests hold it against the oracles. The caller owns all memory.
 */
#ifndef KREF_BENCH_CPU_ATTENTION_H
#define KREF_BENCH_CPU_ATTENTION_H

#include "bench/cpu/rows.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kref_cpu_heads {
    int query_heads;
    int kv_heads;
    int window_tokens; /* 0 = all */
    float scale;
} kref_cpu_heads;

typedef struct kref_cpu_prefill {
    kref_cpu_heads heads;
    kref_cpu_rows rows;          /* one a key token */
    const uint16_t *queries;     /* [query tokens][query_heads][key_width] */
    const int32_t *query_starts; /* [sequences + 1] */
    const int32_t *key_starts;   /* [sequences + 1] */
    uint16_t *outputs;           /* [query tokens][query_heads][value_width] */
    int sequences;
    int queries_max; /* of a sequence */
} kref_cpu_prefill;

void kref_cpu_prefill_attention(const kref_cpu_prefill *prefill);

typedef struct kref_cpu_decode {
    kref_cpu_heads heads;
    kref_cpu_rows rows;         /* one a slot of the cache, [blocks][block_tokens] */
    const uint16_t *queries;    /* [sequences][query_heads][key_width] */
    const int32_t *block_table; /* [sequences][blocks_max] */
    const int32_t *lengths;     /* [sequences] */
    uint16_t *outputs;          /* [sequences][query_heads][value_width] */
    int sequences;
    int block_tokens;
    int blocks_max;
} kref_cpu_decode;

void kref_cpu_decode_attention(const kref_cpu_decode *decode);

#ifdef __cplusplus
}
#endif

#endif
