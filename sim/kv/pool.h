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
 *
 * Every operation costs as many steps as it touches spans, whatever the size of a block. Knows
 * nothing of requests or steps.
 */
#ifndef SLUICE_KV_POOL_H
#define SLUICE_KV_POOL_H

#include "kv/prefix.h"

struct sli_context;
typedef struct sli_pool sli_pool;

typedef enum sli_span_kind { SLI_SPAN_BLANK, SLI_SPAN_PARKED, SLI_SPAN_COPY } sli_span_kind;

typedef struct sli_span {
    struct sli_span *before; /* towards the head of the queue; NULL outside it */
    struct sli_span *after;
    sli_span_kind kind;
    uint32_t reference_count;     /* copy: contexts that hold it; 0 = in the queue */
    int64_t blocks;               /* blank, parked */
    struct sli_context *parker;   /* parked */
    struct sli_span *next_parked; /* of the same parker, in another pool */
    sli_pool *pool;               /* parked */
    sli_run *run;                 /* copy */
    struct sli_span *older_copy;  /* of the same run */
    struct sli_span *newer_copy;
    struct sli_span *upper; /* copy: what was split off it, for those who held both */
} sli_span;

static inline int64_t sli_span_blocks(const sli_span *span) {
    return span->kind == SLI_SPAN_COPY ? sli_run_blocks(span->run) : span->blocks;
}

typedef struct sli_pool_config {
    int64_t block_count; /* >= 1 */
    int64_t block_tokens;
    bool has_index;
    bool caches_generated; /* blocks that end in generated tokens are findable too */
} sli_pool_config;

struct sli_pool {
    sli_pool_config config;
    int64_t free_blocks;   /* in the queue, cached ones included */
    int64_t cached_blocks; /* those of them whose contents a lookup can still find */
    sli_span queue;        /* the sentinel: after = head, before = tail */
    sli_slab spans;
    sli_slab holds; /* of contexts */
    sli_prefix prefix;
    bool is_out_of_memory; /* the books are wrong from then on: the run must end */
};

SL_NODISCARD sl_err sli_pool_init(sli_pool *pool, const sli_pool_config *config);
void sli_pool_fini(sli_pool *pool);

/* Blocks that somebody holds. */
int64_t sli_pool_held_blocks(const sli_pool *pool);

/* ceil(tokens / block_tokens). */
int64_t sli_pool_blocks_for(const sli_pool *pool, int64_t tokens);

/* Takes blocks from the head of the queue, their old contents forgotten; so many must be free.
 * O(spans eaten). */
void sli_pool_take(sli_pool *pool, int64_t blocks);

/* Blocks of unfindable contents return to the tail. O(1). */
void sli_pool_give_blank(sli_pool *pool, int64_t blocks);

/* Blank blocks return to the head, as the next to be taken. O(1). */
void sli_pool_put_back(sli_pool *pool, int64_t blocks);

/* Blocks that only `parker` can find again go to the tail, into parker->parked. O(1). */
void sli_pool_park(sli_pool *pool, struct sli_context *parker, int64_t blocks);

/* What is left in this pool of what it parked, or NULL. O(pools that it has been in). */
sli_span *sli_pool_parked(const sli_pool *pool, const struct sli_context *parker);

/* The parker takes what is left in this pool back; answers how many blocks. */
int64_t sli_pool_unpark(sli_pool *pool, struct sli_context *parker);

/* The parker will never be back: what it parked, in any pool, is blank where it lies. */
void sli_pool_forget_parked(struct sli_context *parker);

/* One holder more of a copy; leaves the queue if it was there. O(1). */
void sli_pool_share(sli_pool *pool, sli_span *copy);

/* One holder less; the last one sends it to the tail, contents kept. O(1). */
void sli_pool_release(sli_pool *pool, sli_span *copy);

/* Puts a free copy that was split off `lower` behind it in the queue (kv/prefix.c). */
void sli_pool_link_upper(sli_span *lower, sli_span *upper);

/* A new copy held once, or NULL (and is_out_of_memory). */
sli_span *sli_pool_new_copy(sli_pool *pool, sli_run *run);

#endif
