/*
 * A context owns KV: the blocks that hold the tokens of one sequence.
 *
 * Floor kv. Requests borrow contexts. Every operation conserves blocks: free + held = pool. Slots
 * are reserved first (acquire, extend), contents become findable when they are published, and only
 * unpublished slots can be rolled back, so speculation never leaves unverified tokens in the index.
 *
 * Blocks of shared contents are held as copies of runs, all others are only counted. Nothing here
 * costs more for smaller blocks. When memory is out, pool->is_out_of_memory is set and the books
 * are wrong: the run must end.
 */
#ifndef SLUICE_KV_CONTEXT_H
#define SLUICE_KV_CONTEXT_H

#include "kv/window.h"

/* A copy that a context holds, together with what was split off above it since, down to
 * start_block. */
typedef struct sli_hold {
    struct sli_hold *above; /* the one that ends where this begins */
    sli_span *copy;
    int64_t start_block;
} sli_hold;

/* Zeroed holds nothing. Must not move while something of it is parked. */
typedef struct sli_context {
    sli_hold *deepest;        /* the last copy; the list goes up to the first block */
    sli_span *parked;         /* private blocks left in queues when it was preempted, by pool */
    int64_t block_count;      /* of the first group; held, shared and private */
    int64_t reserved_blocks;  /* taken at once at the start; no roll-back gives them up */
    int64_t tokens;           /* slots in use */
    int64_t published_blocks; /* the first ones, whose contents are findable */
    int64_t held_blocks;      /* of the pool, in all groups */
    sli_window *windows;      /* of the other groups; NULL = there are none, or it holds nothing */
} sli_context;

/* What a lookup found. */
typedef struct sli_hit {
    int64_t blocks;      /* of the first group, with all that the others keep behind them */
    int64_t free_blocks; /* of the pool, that sharing uses up like taking new ones */
} sli_hit;

/* What an acquisition asks for; counts of tokens include those found in the index. */
typedef struct sli_acquisition {
    sli_hit hit;              /* from sli_context_lookup, in the same instant */
    int64_t tokens;           /* slots to reserve */
    int64_t reserve_tokens;   /* blocks to take at once, if more */
    int64_t fit_tokens;       /* must fit now, though not taken, if more */
    int64_t known_tokens;     /* that steps may compute at once later, if more than the prompt */
    int64_t keep_free_blocks; /* must stay free */
} sli_acquisition;

/*
 * What the pool holds of the contents from the first block on, at most max_tokens, in whole blocks:
 * shared runs, then what this context parked. With several groups as far as all of them can go on
 * from there. O(runs + ids + window blocks looked up).
 */
sli_hit sli_context_lookup(const sli_context *context, const sli_pool *pool,
                           const sli_content_view *view, int64_t max_tokens);

/*
 * Shares the hit blocks and takes the others, wholly or not at all; answers how many more blocks
 * would have to be free (0 = done). The context must hold nothing.
 */
int64_t sli_context_acquire(sli_context *context, sli_pool *pool, const sli_content_view *view,
                            const sli_acquisition *acquisition);

/* Blocks of the pool that must be taken before the context has `tokens` slots; may be 0.
 * O(groups). */
int64_t sli_context_need(const sli_context *context, const sli_pool *pool, int64_t tokens);

/* Reserves slots up to `tokens`; sli_context_need of them must be free. */
void sli_context_extend(sli_context *context, sli_pool *pool, int64_t tokens);

/* Says that blocks and slots have grown by blocks that somebody else took for it. O(groups). */
void sli_context_grow(sli_context *context, sli_pool *pool, int64_t tokens);

/*
 * So many tokens are computed: windows give up what they have passed. What others may find goes
 * back at once; answers how many blocks of the pool are left for the caller to give, as blank ones.
 */
int64_t sli_context_slide_windows(sli_context *context, sli_pool *pool, int64_t tokens);

static inline int64_t sli_context_slide(sli_context *context, sli_pool *pool, int64_t tokens) {
    return pool->window_count > 0 ? sli_context_slide_windows(context, pool, tokens) : 0;
}

/* Blocks of the pool that it would hold with so many computed tokens and slots, if all its windows
 * hold could be passed at once. O(groups). */
int64_t sli_context_held_at(const sli_context *context, const sli_pool *pool,
                            int64_t computed_tokens, int64_t tokens);

/* Makes all full blocks of the first `tokens` tokens findable. */
void sli_context_publish(sli_context *context, sli_pool *pool, const sli_content_view *view,
                         int64_t tokens);

/* Takes publications beyond the first `tokens` tokens back. Nobody may have found them since. */
void sli_context_retract(sli_context *context, sli_pool *pool, int64_t tokens);

/* Gives up the slots beyond `tokens`, none of them published: as if never extended. Blocks that
 * were reserved at the start stay. With one group only. */
void sli_context_roll_back(sli_context *context, sli_pool *pool, int64_t tokens);

/* Gives everything back, the deepest block first, so that it is evicted first. Parks private
 * contents if the context will be back, else they are blank. */
void sli_context_release(sli_context *context, sli_pool *pool, const sli_content_view *view,
                         bool will_be_back);

/* The context will never be back: forgets what it parked. */
void sli_context_forget(sli_context *context);

#endif
