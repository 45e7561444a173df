/*
 * Rows of a cache in fewer bits on a CPU, written and read: cuda/cache_format.h has the formats in
 * words. Rows go to threads (OpenMP), elements to vectors.
 *
 * Plain C; knows no kernel. Tests hold it against the oracle. The caller owns all memory.
 */
#ifndef KREF_BENCH_CPU_CODES_H
#define KREF_BENCH_CPU_CODES_H

#include "bench/cpu/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KREF_CPU_Q4_GROUP = 32 }; /* elements that share a scale */

typedef enum kref_cpu_format { KREF_CPU_FP8, KREF_CPU_INT8, KREF_CPU_Q4_0 } kref_cpu_format;

typedef struct kref_cpu_layout {
    kref_cpu_format format;
    int kv_heads;
    int head_dim; /* a multiple of 32, at most KREF_CPU_WIDTH_MAX */
} kref_cpu_layout;

/* Codes with their scales: of rows, or with fp8 of heads. The other array is NULL. */
typedef struct kref_cpu_codes {
    const uint8_t *codes;     /* [rows][kv_heads][bytes of a row] */
    const uint16_t *scales;   /* fp16: [rows][kv_heads], with q4_0 [rows][kv_heads][groups] */
    const float *head_scales; /* [kv_heads] */
} kref_cpu_codes;

typedef struct kref_cpu_coded {
    kref_cpu_layout layout;
    kref_cpu_codes keys;
    kref_cpu_codes values;
} kref_cpu_coded;

/* An element is worth code x scale, rounded to bf16. */
kref_cpu_rows kref_cpu_coded_rows(const kref_cpu_coded *it);

/* Where rows become codes; as kref_cpu_codes. */
typedef struct kref_cpu_appended {
    const uint16_t *from; /* [tokens][kv_heads][head_dim] */
    uint8_t *codes;
    uint16_t *scales;
    const float *head_scales;
} kref_cpu_appended;

/* Token i goes to row slots[i] of the cache; of -1 to none. */
void kref_cpu_append(const kref_cpu_layout *layout, const kref_cpu_appended *keys,
                     const kref_cpu_appended *values, const int32_t *slots, int tokens);

#ifdef __cplusplus
}
#endif

#endif
