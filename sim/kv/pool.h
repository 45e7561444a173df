/*
 * The pool: paged KV blocks of one replica, counted in ranges, never one by one.
 *
 * Floor kv. What matters of physical blocks is their number, and of free ones the order in which
 * they will be handed out, because a free block keeps its contents until then. So the queue of free
 * blocks is a list of spans: blocks that lie together in it and in their contents. Blocks are taken
 * from the head of the queue and return to its tail, deepest first, which makes eviction LRU with
 * the deeper block first (vLLM v1, block_pool.py); taking eats a span from its deep end.
 *
 *   blank span    contents that no lookup can find again
 *   parked span   contents that only the context that left them can find
 *   copy          of a run of the prefix index (kv/prefix.h), in use or free
 *   window block  a block of another group than the first (kv/window.h), in use or free
 *
 * With a layout (kv/layout.h) the pool counts pages, and a block of a group takes several of them.
 * They lie together in the queue; as soon as one is handed out again the contents are lost, and the
 * others are the next to go.
 *
 * Every operation costs as many steps as it touches spans, whatever the size of a block. Knows
 * nothing of requests or steps.
 */
#ifndef SLUICE_KV_POOL_H
#define SLUICE_KV_POOL_H

#include "base/divide.h"
#include "kv/layout.h"
#include "kv/prefix.h"
#include "kv/window_index.h"

struct sli_context;
typedef struct sli_pool sli_pool;

typedef enum sli_span_kind {
    SLI_SPAN_BLANK,
    SLI_SPAN_PARKED,
    SLI_SPAN_COPY,
    SLI_SPAN_WINDOW
} sli_span_kind;

typedef struct sli_span {
    struct sli_span *before; /* towards the head of the queue; NULL outside it */
    struct sli_span *after;
    sli_span_kind kind;
    uint32_t reference_count;     /* copy, window: contexts that hold it; 0 = in the queue */
    int64_t blocks;               /* blank: of the pool; parked: of its group */
    struct sli_context *parker;   /* parked */
    struct sli_span *next_parked; /* of the same parker, in another pool or group */
    sli_pool *pool;               /* parked */
    uint32_t group;               /* parked, window: number in the layout */
    int64_t start_block;          /* parked: position of the first block in its group */
    sli_run *run;                 /* copy */
    struct sli_span *older_copy;  /* of the same run */
    struct sli_span *newer_copy;
    struct sli_span *upper; /* copy: what was split off it, for those who held both */
} sli_span;

typedef struct sli_pool_config {
    int64_t block_count; /* >= 1 */
    int64_t block_tokens;
    bool has_index;
    bool caches_generated;    /* blocks that end in generated tokens are findable too */
    const sli_layout *layout; /* NULL = one group, a block of the pool for each of its own */
} sli_pool_config;

struct sli_pool {
    sli_pool_config config;
    int64_t block_pages;   /* that a block of the first group takes */
    uint32_t window_count; /* groups behind the first */
    int64_t free_blocks;   /* in the queue, cached ones included */
    int64_t cached_blocks; /* those of them whose contents a lookup can still find */
    sli_span queue;        /* the sentinel: after = head, before = tail */
    sli_slab spans;
    sli_slab holds;           /* of contexts */
    sli_prefix prefix;        /* of the first group */
    sli_window_index windows; /* of the others */
    sli_slab window_holds;    /* of contexts */
    sli_slab window_sets;     /* of contexts: a window for each group behind the first */
    bool is_out_of_memory;    /* the books are wrong from then on: the run must end */
};

SL_NODISCARD sl_err sli_pool_init(sli_pool *pool, const sli_pool_config *config);
void sli_pool_fini(sli_pool *pool);

/* Blocks of the pool that lie in a span. */
int64_t sli_pool_span_blocks(const sli_pool *pool, const sli_span *span);

/* Blocks that somebody holds. */
static inline int64_t sli_pool_held_blocks(const sli_pool *pool) {
    return pool->config.block_count - pool->free_blocks;
}

/* Blocks of the pool that a block of a group takes; of the first one possibly 0. */
static inline int64_t sli_pool_block_pages(const sli_pool *pool, uint32_t group) {
    return group == 0 ? pool->block_pages : pool->config.layout->groups[group].block_pages;
}

/* ceil(tokens / block_tokens). */
static inline int64_t sli_pool_blocks_for(const sli_pool *pool, int64_t tokens) {
    return sli_divide_up(tokens, pool->config.block_tokens);
}

/* Takes blocks from the head of the queue, their old contents forgotten; so many must be free.
 * O(spans eaten). */
void sli_pool_take(sli_pool *pool, int64_t blocks);

/* Blocks of unfindable contents return to the tail. O(1). */
void sli_pool_give_blank(sli_pool *pool, int64_t blocks);

/* Blank blocks return to the head, as the next to be taken. O(1). */
void sli_pool_put_back(sli_pool *pool, int64_t blocks);

/* Blocks of a group, from `start_block` on, that only `parker` can find again go to the tail, into
 * parker->parked. O(1). */
void sli_pool_park(sli_pool *pool, struct sli_context *parker, uint32_t group, int64_t start_block,
                   int64_t blocks);

/* What is left in this pool of what it parked of a group, or NULL. O(groups and pools it has been
 * in). */
sli_span *sli_pool_parked(const sli_pool *pool, const struct sli_context *parker, uint32_t group);

/* The parker takes the blocks [from, to) of a group back, which are there; all else that it has
 * parked of the group in this pool is blank where it lies. */
void sli_pool_unpark(sli_pool *pool, struct sli_context *parker, uint32_t group, int64_t from_block,
                     int64_t to_block);

/* What it has parked in this pool is blank where it lies. */
void sli_pool_forget_parked_here(sli_pool *pool, struct sli_context *parker);

/* The parker will never be back: what it parked, in any pool, is blank where it lies. */
void sli_pool_forget_parked(struct sli_context *parker);

/* One holder more of a copy or window block; leaves the queue if it was there. O(1). */
void sli_pool_share(sli_pool *pool, sli_span *span);

/* One holder less; the last one sends it to the tail, contents kept. O(1). */
void sli_pool_release(sli_pool *pool, sli_span *span);

/* Puts a free copy that was split off `lower` behind it in the queue (kv/prefix.c). */
void sli_pool_link_upper(sli_span *lower, sli_span *upper);

/* A new copy held once, or NULL (and is_out_of_memory). */
sli_span *sli_pool_new_copy(sli_pool *pool, sli_run *run);

#endif
