/*
 * A block of 128 queries of one head against tiles of keys, for prefill_attention and mla_prefill:
 * what cuda/query_block.h executes; and the softmax, which decode_attention has too.
 */
#ifndef KREF_FIGURES_QUERY_BLOCK_H
#define KREF_FIGURES_QUERY_BLOCK_H

#include "figures/work.h"

enum { KREF_QUERY_TILE = 128, KREF_ROW_LANES = 4 /* that share a row of a tile */ };

/* Adds the vector work on `rows` whole rows of a tile of `keys` keys, whose values are so wide. */
void kref_add_softmax(kref_work *work, int64_t rows, int64_t keys, int64_t value_dim);

typedef struct kref_query_shape {
    int64_t key_tile;
    int64_t key_dim;
    int64_t value_dim;
    int output_bytes;
} kref_query_shape;

/* Adds a block of `rows` queries that walks over `keys` keys. */
void kref_add_query_block(kref_work *work, const kref_query_shape *shape, int64_t rows,
                          int64_t keys);

/* Adds what all threads of all blocks look up, also of those that find nothing to do. */
void kref_add_query_lookups(kref_work *work, int64_t queries_max, int64_t heads, int64_t sequences);

/* Of a block. */
int64_t kref_query_shared(const kref_query_shape *shape);

#endif
