/*
 * Copies on a CPU: blocks from pool to pool, and rows that an index has chosen. Blocks and rows go
 * to threads (OpenMP).
 *
 * Plain C; knows no kernel. The caller owns all memory.
 */
#ifndef KREF_BENCH_CPU_COPY_H
#define KREF_BENCH_CPU_COPY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lists as in cuda/block_copy.h: one that is NULL counts 0, 1, 2, ... */
typedef struct kref_cpu_blocks {
    const void *source;
    void *target;
    const int32_t *source_blocks;
    const int32_t *target_blocks;
    size_t block_bytes;
    int blocks;
} kref_cpu_blocks;

void kref_cpu_block_copy(const kref_cpu_blocks *it);

/* By one thread, block after block. */
void kref_cpu_block_copy_each(const kref_cpu_blocks *it);

typedef struct kref_cpu_gather {
    const uint16_t *cache;      /* [blocks][block_tokens][width] */
    const int32_t *block_table; /* [sequences][blocks_max] */
    const int32_t *chosen;      /* [sequences][top]; -1 becomes zeros */
    uint16_t *rows;             /* [sequences][top][width] */
    int sequences;
    int top;
    int width;
    int block_tokens;
    int blocks_max;
} kref_cpu_gather;

void kref_cpu_gather_rows(const kref_cpu_gather *it);

#ifdef __cplusplus
}
#endif

#endif
