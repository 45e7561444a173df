/*
 * A context owns KV: the blocks that hold the tokens of one sequence.
 *
 * Floor kv. Requests borrow contexts. Every operation conserves blocks: free + held = pool. Slots
 * are reserved first (acquire, extend), contents become findable when they are published, and only
 * unpublished slots can be rolled back, so speculation never leaves unverified tokens in the index.
 */
#ifndef SLUICE_KV_CONTEXT_H
#define SLUICE_KV_CONTEXT_H

#include "kv/window.h"

/* Zeroed holds nothing. */
typedef struct sli_context {
    uint32_t *blocks; /* of the first group, in order of position: the first page of each */
    int64_t block_count;
    int64_t block_capacity;
    int64_t tokens;           /* slots reserved */
    int64_t reserved_blocks;  /* taken at once by the acquisition, kept by a roll-back */
    int64_t published_blocks; /* the first ones, whose contents are findable */
    sli_window windows[SLI_GROUP_MAX - 1]; /* of the other groups */
    int64_t held_blocks;                   /* of the pool, in all groups */
} sli_context;

/* What an acquisition asks for; counts of tokens include those found in the index. */
typedef struct sli_acquisition {
    int64_t hit_tokens;       /* from sli_context_lookup, in the same instant */
    int64_t tokens;           /* slots to reserve */
    int64_t reserve_tokens;   /* blocks to take at once, if more */
    int64_t fit_tokens;       /* must fit now, though not taken, if more */
    int64_t known_tokens;     /* that steps may compute at once later, if more than the prompt */
    int64_t keep_free_blocks; /* must stay free */
    int64_t final_tokens;     /* most it will ever hold: room for the list of blocks */
} sli_acquisition;

/*
 * Tokens of the contents that the index holds from the start on, in whole blocks, at most
 * max_tokens, with all that the other groups keep at that place. O(hit blocks).
 */
int64_t sli_context_lookup(const sli_pool *pool, const sli_content_view *view, int64_t max_tokens);

/*
 * Shares the hit blocks and takes the others, wholly or not at all; *missing_blocks says how many
 * more would have to be free (0 = done). The context must hold nothing.
 */
SL_NODISCARD sl_err sli_context_acquire(sli_context *context, sli_pool *pool,
                                        const sli_content_view *view,
                                        const sli_acquisition *acquisition,
                                        int64_t *missing_blocks);

/* Blocks of the pool that must be taken before the context has `tokens` slots; may be 0. O(1). */
int64_t sli_context_need(const sli_context *context, const sli_pool *pool, int64_t tokens);

/* Reserves slots up to `tokens`; sli_context_need of them must be free. O(blocks taken). */
SL_NODISCARD sl_err sli_context_extend(sli_context *context, sli_pool *pool, int64_t tokens);

/* Makes all full blocks of the first `tokens` tokens findable. O(blocks published). */
void sli_context_publish(sli_context *context, sli_pool *pool, const sli_content_view *view,
                         int64_t tokens);

/* Takes publications beyond the first `tokens` tokens back. Nobody else may share them. */
void sli_context_retract(sli_context *context, sli_pool *pool, int64_t tokens);

/* So many tokens are computed: windows give back what they have passed, contents that others may
 * find first, what nobody can find only when `gives_blank`. */
void sli_context_slide(sli_context *context, sli_pool *pool, const sli_content_view *view,
                       int64_t tokens, bool gives_blank);

/* Gives up the slots beyond `tokens`, none of them published: as if never extended. With one group
 * only. */
void sli_context_roll_back(sli_context *context, sli_pool *pool, int64_t tokens);

/* Gives everything back, the deepest block first, so that it is evicted first. O(blocks). */
void sli_context_release(sli_context *context, sli_pool *pool);

/* The range-based engine parks contents with their context; here the index knows them by itself. */
static inline void sli_context_forget(sli_context *context) {
    (void)context;
}

/* Releases and frees the memory of the list itself. */
void sli_context_fini(sli_context *context, sli_pool *pool);

#endif
