/*
 * What a context holds of a group behind the first: a window, a chunk, a state, a fixed number,
 * what is kept of thrown out tokens.
 *
 * Floor kv. Part of a context (kv/context.h). Between steps a window holds the blocks from the
 * first one kept at its computed tokens on (kv/layout_held.h says which); what it has passed goes
 * back. A prefix can be continued only where all that is kept at its end can be found.
 *
 * Blocks whose contents others may find are held one by one, all others are only counted; those are
 * findable by their own context alone, and only as long as the window has not passed them.
 *
 * Kept rows have no positions: tokens are thrown out from anywhere, and what stays is moved
 * together at the end of a step. So a kept group holds its first blocks, and the last ones go back.
 * How many depends on the prompt, and while that is computed on what was there before the step.
 *
 * A reservation of so many tokens takes what a context needs at its worst moment until it has them
 * (sli_group_reserved_blocks), and what the others need once all that was known is computed. What
 * it does not fill yet, or what it has passed, is spare. A block that others may find is none of it
 * when it is passed: while it shares, a reservation may have to take blocks again.
 */
#ifndef SLUICE_KV_WINDOW_H
#define SLUICE_KV_WINDOW_H

#include "kv/pool.h"

/* A block that others may find. */
typedef struct sli_window_hold {
    struct sli_window_hold *upper;
    struct sli_window_hold *deeper;
    int64_t position; /* in blocks of the group */
    sli_span *block;
} sli_window_hold;

/* Zeroed holds nothing. Positions are in blocks of the group. */
typedef struct sli_window {
    sli_window_hold *uppermost;
    sli_window_hold *deepest;
    int64_t first_block;     /* of what is held; of a state the first and the last block are */
    int64_t end_block;       /* exclusive; both equal = nothing is held */
    int64_t published_block; /* before it all that is held can be found; not of a state */
    bool is_first_saved;     /* of a state, found by its own context: of the first block */
    bool is_last_saved;      /* and of the last one, if that is another */
    int64_t spare_blocks;    /* that the reservation holds besides */
    int64_t prompt_tokens;   /* of the context */
    int64_t known_tokens;    /* at the start: a step may compute them all */
    int64_t reserved_tokens; /* at the start; 0 = none */
    int64_t computed_tokens; /* when a step ended last */
} sli_window;

/* The window of a context in a pool. */
typedef struct sli_window_site {
    sli_pool *pool;
    struct sli_context *context;
    const sli_content_view *view; /* NULL where contents do not matter */
    const sli_group *group;
    uint32_t number; /* of the group in the layout */
} sli_window_site;

/* The longest prefix of at most `tokens`, a multiple of `align_tokens`, whose window is findable.
 * O(blocks looked up); each block that is missing rules all prefixes out that need it. */
int64_t sli_window_fit(const sli_window_site *site, int64_t tokens, int64_t align_tokens);

/* Blocks of the pool that sharing the window behind a prefix uses up, as they lie in the queue. */
int64_t sli_window_free_blocks(const sli_window_site *site, int64_t tokens);

/* Shares the window behind a prefix. It must hold nothing. */
void sli_window_share(sli_window *window, const sli_window_site *site, int64_t tokens);

/* Blocks of the pool that are needed for slots up to `tokens`, behind a prefix of `prefix_tokens`
 * that is not shared yet, or 0. O(1). */
int64_t sli_window_need(const sli_window *window, const sli_group *group, int64_t prefix_tokens,
                        int64_t tokens);

/* The same for whoever asks before, without taking them, whether so many tokens would fit, in
 * whatever steps; at least sli_window_need. Only a kept group answers more. O(1). */
int64_t sli_window_fit_need(const sli_window *window, const sli_group *group, int64_t prefix_tokens,
                            int64_t tokens, int64_t fit_tokens);

/* Says that these blocks have been taken. O(1). */
void sli_window_grow(sli_window *window, const sli_group *group, int64_t tokens);

/* With `tokens` computed, what is full within the first limit_tokens becomes findable. */
void sli_window_publish(sli_window *window, const sli_window_site *site, int64_t tokens,
                        int64_t limit_tokens);

/* Takes publications beyond `tokens` back. Nobody may have found them since. */
void sli_window_retract(sli_window *window, const sli_window_site *site, int64_t tokens);

/* What has been passed at `tokens` computed tokens: gives back what others may find, deepest first,
 * and answers how many blocks of the pool are left over, for the caller to give. O(blocks held one
 * by one that go). */
int64_t sli_window_slide(sli_window *window, const sli_window_site *site, int64_t tokens);

/* Blocks of the pool that it holds. */
int64_t sli_window_blocks(const sli_window *window, const sli_group *group);

/* Whether its reservation is whole. Until that is used up, or a block that others may find is
 * passed, the window neither takes a block nor gives one back. O(1). */
bool sli_window_is_settled(const sli_window *window, const sli_group *group);

/* Gives everything back, spare blocks and then deepest first; what only its context can find is
 * parked if it will be back. */
void sli_window_release(sli_window *window, const sli_window_site *site, bool will_be_back);

#endif
