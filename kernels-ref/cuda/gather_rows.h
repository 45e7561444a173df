/*
 * The rows of a paged cache that an index has chosen, one behind the other: what a sparse layer
 * attends to (DeepSeek-V3.2, section 2.1), latents of 512 + 64 elements for one.
 *
 * Row i of sequence s becomes token chosen[s][i], which lies in block block_table[s][token / block
 * size]. Where nothing is chosen (-1), zeros.
 */
#ifndef KREF_CUDA_GATHER_ROWS_H
#define KREF_CUDA_GATHER_ROWS_H

#include "cuda/global.h"

namespace kref {

struct gather_rows_args {
    global<const bf16> cache;          /* [blocks][block_tokens][width] */
    global<const int32_t> block_table; /* [sequences][blocks_max] */
    global<const int32_t> chosen;      /* [sequences][top] */
    global<bf16> rows;                 /* [sequences][top][width] */
    int sequences;
    int top;
    int width; /* a multiple of 8 */
    int block_tokens;
    int blocks_max; /* entries of a row of the table */
};

/* Why the shape cannot be served, or null. */
const char *gather_rows_refusal(const gather_rows_args &args);

/* Null, or what went wrong. The memory is the caller's. */
const char *gather_rows(const gather_rows_args &args, void *stream);

} // namespace kref

#endif
