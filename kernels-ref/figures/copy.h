/*
 * Closed forms of the kernels that only move or narrow what is there: block_copy, gather_rows,
 * kv_append.
 */
#ifndef KREF_FIGURES_COPY_H
#define KREF_FIGURES_COPY_H

#include "figures/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `lists` of the two lists of blocks are given. */
kref_work kref_block_copy_work(int64_t blocks, int64_t block_bytes, int lists);

/* `found` of the `rows` are chosen; the others become zeros. */
kref_work kref_gather_rows_work(int64_t rows, int64_t found, int64_t width);

/* Formats of a quantised cache. */
typedef enum kref_cache_format {
    KREF_CACHE_FP8,
    KREF_CACHE_INT8,
    KREF_CACHE_Q4_0
} kref_cache_format;

/* Of a key or value of one head: its codes and scales. */
int64_t kref_cache_row_bytes(kref_cache_format format, int64_t head_dim);

/* `written` of the tokens have a slot in the cache. */
kref_work kref_kv_append_work(kref_cache_format format, int64_t tokens, int64_t written,
                              int64_t kv_heads, int64_t head_dim);

#ifdef __cplusplus
}
#endif

#endif
