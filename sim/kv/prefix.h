/*
 * The prefix index: which contents are in the pool, as a forest of runs.
 *
 * Floor kv. A run is a stretch of consecutive shared blocks; its parent is the run that ends where
 * it begins. One map finds a run by the key of its first block. A run has one copy for each time
 * that its contents lie in the pool, oldest first, and all copies cover the same blocks: where only
 * a part is hit, evicted or computed again, the run is split. A lookup answers the oldest copy, as
 * in vLLM.
 *
 * Invariants: no two runs have a first block of the same key; a run exists only if its parent does
 * (contents are prefix-closed: a child is never freed later than its parent, so it is evicted
 * first); a copy's blocks have the same holders and lie together in the queue.
 */
#ifndef SLUICE_KV_PREFIX_H
#define SLUICE_KV_PREFIX_H

#include "kv/content.h"
#include "kv/slab.h"

struct sli_pool;
struct sli_span;

typedef struct sli_run {
    struct sli_run *next_in_bucket;
    struct sli_run *parent; /* NULL = begins at the first block */
    sli_block_key key;      /* of its first block, under which the map has it */
    sl_content content;     /* one that has these blocks */
    int64_t start_block;
    int64_t end_block; /* exclusive */
    int64_t child_count;
    struct sli_span *oldest_copy; /* the one that lookups answer */
    struct sli_span *newest_copy;
} sli_run;

static inline int64_t sli_run_blocks(const sli_run *run) {
    return run->end_block - run->start_block;
}

typedef struct sli_prefix {
    sli_run **buckets;
    size_t bucket_count; /* a power of two */
    size_t run_count;
    sli_slab runs;
} sli_prefix;

SL_NODISCARD sl_err sli_prefix_init(sli_prefix *prefix);
void sli_prefix_fini(sli_prefix *prefix);

/* The run whose first block is block `start_block` of the contents, or NULL. O(1) on average. */
sli_run *sli_prefix_find(const struct sli_pool *pool, const sl_content *content,
                         int64_t start_block);

/* A new run [start, end) below `parent` with one copy, held once. NULL when memory is out. */
struct sli_span *sli_prefix_add(struct sli_pool *pool, const sl_content *content,
                                int64_t start_block, int64_t end_block, sli_run *parent);

/*
 * Cuts a run before block `at`, start < at < end: it keeps the deeper part with its children and
 * holders, and a new parent gets the rest. O(copies).
 */
void sli_prefix_split(struct sli_pool *pool, sli_run *run, int64_t at_block);

/* One more copy of the whole run, held once, the newest. NULL when memory is out. O(1). */
struct sli_span *sli_prefix_duplicate(struct sli_pool *pool, sli_run *run);

/* Takes a copy out of its run; the last one takes the run with it, which then has no children. */
void sli_prefix_remove_copy(struct sli_pool *pool, struct sli_span *copy);

#endif
