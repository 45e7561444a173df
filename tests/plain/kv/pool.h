/*
 * The pool: paged KV blocks of one replica, their reference counts and the queue of free ones.
 *
 * Floor kv. A free block keeps its contents until it is handed out again, so the order of the queue
 * is the order of eviction: blocks are taken from its head and return to its tail, which makes it
 * LRU (vLLM v1, block_pool.py). The prefix index finds blocks in use and free ones alike. Knows
 * nothing of requests or steps.
 *
 * With a layout the blocks of the pool are pages, and a block of a group is as many of them as the
 * layout says. They are taken, shared and given back together, the first one ahead of the others;
 * it alone is in the index, so that contents are lost as soon as it is handed out again.
 */
#ifndef SLUICE_KV_POOL_H
#define SLUICE_KV_POOL_H

#include "kv/layout.h"
#include "kv/prefix.h"

#include <stdbool.h>

typedef struct sli_block {
    uint32_t reference_count;
    uint32_t previous; /* in the free queue */
    uint32_t next;
    uint32_t next_page; /* of the same block of a group; SLI_NO_BLOCK ends it */
} sli_block;

typedef struct sli_pool_config {
    int64_t block_count; /* 1 .. 2^32 - 2 */
    int64_t block_tokens;
    bool has_index;
    bool caches_generated;
    const sli_layout *layout; /* NULL = one group, a block of the pool for each of its own */
} sli_pool_config;

typedef struct sli_pool {
    sli_pool_config config;
    sli_block *blocks;     /* block_count, then the sentinel of the free queue */
    int64_t free_blocks;   /* in the queue: reference count 0, cached ones included */
    int64_t cached_blocks; /* those of them whose contents the index can still find */
    sli_prefix prefix;
    uint64_t evicted_blocks; /* findable blocks that were handed out again, ever */
    uint64_t epoch;          /* changes whenever the answer to a lookup may change */
} sli_pool;

SL_NODISCARD sl_err sli_pool_init(sli_pool *pool, const sli_pool_config *config);
void sli_pool_fini(sli_pool *pool);

/* Blocks that somebody holds. */
int64_t sli_pool_held_blocks(const sli_pool *pool);

/* The block at the head of the queue, its old contents forgotten; one must be free. O(1). */
uint32_t sli_pool_take(sli_pool *pool);

/* One more holder; leaves the free queue if it was there. O(1). */
void sli_pool_share(sli_pool *pool, uint32_t block);

/* One holder less; the last one puts it at the tail of the queue, contents kept. O(1). */
void sli_pool_release(sli_pool *pool, uint32_t block);

/* Gives an only, unfindable block back as the next to be taken: as if it never had been. O(1). */
void sli_pool_put_back(sli_pool *pool, uint32_t block);

/* Makes the contents of a held block findable, or no longer so; it is the first of so many. */
void sli_pool_publish(sli_pool *pool, uint32_t block, sli_block_key key, int64_t pages);
void sli_pool_retract(sli_pool *pool, uint32_t block);

/* Whether the contents of a block are findable. */
bool sli_pool_is_findable(const sli_pool *pool, uint32_t block);

/* Private contents of a request that lie in the queue cannot be found any more. O(queue). */
void sli_pool_forget_private(sli_pool *pool, uint64_t request);

/* Blocks of the pool that a block of the first group takes. */
int64_t sli_pool_block_pages(const sli_pool *pool);

/* Groups behind the first. */
int sli_pool_window_count(const sli_pool *pool);
const sli_group *sli_pool_window_group(const sli_pool *pool, int window);

/* The same for a block of a group, which is a chain of `pages` >= 1 blocks of the pool. O(pages).
 */
uint32_t sli_pool_take_chain(sli_pool *pool, int64_t pages);
void sli_pool_share_chain(sli_pool *pool, uint32_t first);
void sli_pool_release_chain(sli_pool *pool, uint32_t first);
void sli_pool_put_back_chain(sli_pool *pool, uint32_t first);

/* ceil(tokens / block_tokens). */
int64_t sli_pool_blocks_for(const sli_pool *pool, int64_t tokens);

#endif
