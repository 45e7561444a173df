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

#ifdef __cplusplus
}
#endif

#endif
