/*
 * The index of windows: which blocks of the groups behind the first can be found by others.
 *
 * Floor kv. Windows are short and their contents have gaps, so here, unlike in the prefix index,
 * every block is known by itself: by its group and by what ends in it. Duplicates are allowed; a
 * lookup answers the oldest. O(1) on average.
 */
#ifndef SLUICE_KV_WINDOW_INDEX_H
#define SLUICE_KV_WINDOW_INDEX_H

#include "kv/content.h"
#include "kv/slab.h"

struct sli_pool;
struct sli_span;
struct sli_window_block;

typedef struct sli_window_index {
    struct sli_window_block **buckets; /* NULL as long as there are none */
    size_t bucket_count;               /* a power of two */
    size_t block_count;
    sli_slab blocks;
} sli_window_index;

void sli_window_index_init(sli_window_index *index);
void sli_window_index_fini(sli_window_index *index);

/* The oldest block of a group with these contents, or NULL. */
struct sli_span *sli_window_index_find(const sli_window_index *index, uint32_t group,
                                       sli_block_key key);

/* A new block, held once and findable; NULL when memory is out. */
struct sli_span *sli_window_index_add(struct sli_pool *pool, uint32_t group, sli_block_key key);

/* Calls with every block, in no order; for the audit. */
void sli_window_index_visit(const sli_window_index *index,
                            void (*visit)(void *self, const struct sli_span *block), void *self);

/* It cannot be found any more, and does not exist. */
void sli_window_index_remove(sli_window_index *index, struct sli_span *block);

#endif
