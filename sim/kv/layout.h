/*
 * How the state of a model lies in the pages of one rank.
 *
 * Floor kv. All layers share one pool of equal pages, as in vLLM's hybrid KV cache manager. Layers
 * that keep the same amounts at the same times form a group; a block of a group holds block_tokens
 * tokens (or a state) of all its layers and takes block_pages pages. What a page has beyond the
 * bytes that its layers need is padding. A model of one sort of layers has one group and a page for
 * each block.
 *
 * A context of T computed tokens holds, of a group with B tokens a block:
 *
 *     growing   ceil(T / B)
 *     sliding   ceil(T / B) - floor(max(0, T - W + 1) / B)    blocks with one of the last W - 1
 * tokens chunked   ceil(T / B) - floor(T / C) * C / B            blocks of the chunk of the next
 * token state     1                                             the block that token T lies in
 *     fixed     a number that does not depend on T            from the admission on
 *
 * and while a step computes more tokens, the blocks of these besides. Must not know requests or
 * scheduling. Pure arithmetic, O(runs of layers) to make, O(groups) to ask.
 */
#ifndef SLUICE_KV_LAYOUT_H
#define SLUICE_KV_LAYOUT_H

#include "model/architecture.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum sli_group_kind {
    SLI_GROUP_GROWING,
    SLI_GROUP_SLIDING, /* span_tokens = W, the token itself and W - 1 before it */
    SLI_GROUP_CHUNKED, /* span_tokens = C, a multiple of block_tokens */
    SLI_GROUP_STATE,   /* findable where a step ended at the end of a block */
    SLI_GROUP_FIXED,   /* fixed_blocks */
} sli_group_kind;

typedef struct sli_group {
    char name[32]; /* "full", "sliding 128", "state" ...: for tables */
    sli_group_kind kind;
    int64_t layers; /* that keep something in it */
    int64_t block_tokens;
    int64_t span_tokens;  /* sliding, chunked; else 0 */
    int64_t fixed_blocks; /* fixed; else 0 */
    int64_t block_pages;
    int64_t block_bytes; /* that the layers need: block_pages * page_bytes less padding */
} sli_group;

enum { SLI_GROUP_MAX = 8 };

/*
 * The first group is always growing; where no layer grows it takes no pages. Its block_tokens are
 * the block of the engine. All groups' block_tokens divide align_tokens.
 */
typedef struct sli_layout {
    int64_t page_bytes;
    int64_t align_tokens; /* prefix hits are multiples of it */
    bool is_shareable;    /* contents can be found again; not with a fixed group */
    int group_count;
    sli_group groups[SLI_GROUP_MAX];
} sli_layout;

/* Whether pages behind a window return to the pool. */
typedef enum sli_window_pages {
    SLI_WINDOW_FREED,
    SLI_WINDOW_RESERVED, /* as much as a window and a step can need, from the admission on: what
                            vLLM reckons with; fixed ceil((W - 1 + max_batched_tokens) / B) + 1
                            blocks, the sum of tokens cut to the longest context */
    SLI_WINDOW_IGNORED,  /* windows are kept like full attention */
} sli_window_pages;

/* What a recurrent layer saves for later requests. */
typedef enum sli_state_saves {
    SLI_STATE_ALIGNED, /* the state at the end of each step that ends with a block: vLLM's `align`
                        */
    SLI_STATE_NONE,    /* only the running one; no prefix is ever found */
} sli_state_saves;

typedef struct sli_layout_options {
    const sli_cache_format *cache;
    int64_t block_tokens; /* as asked for; attention blocks grow to the size of a state */
    int64_t tp;
    int64_t max_batched_tokens;
    int64_t max_model_tokens;
    sli_window_pages window_pages;
    sli_state_saves state_saves;
} sli_layout_options;

/* What keeps an architecture from having a layout, as a clause for a message, goes to `why`
 * (SL_ERR_CONFIG): more than SLI_GROUP_MAX sorts of layers, a chunk that is no multiple of a block,
 * a cache format with rows outside of blocks. */
SL_NODISCARD sl_err sli_layout_make(const sli_architecture *architecture,
                                    const sli_layout_options *options, sli_layout *layout,
                                    char *why, size_t why_bytes);

/* Blocks of a group that a context of `tokens` computed tokens holds between steps. */
int64_t sli_group_blocks(const sli_group *group, int64_t tokens);

/* Pages of all groups between steps, and most that a context of at most `tokens` ever holds when a
 * step computes no more than `step_tokens`. */
int64_t sli_layout_pages(const sli_layout *layout, int64_t tokens);
int64_t sli_layout_peak_pages(const sli_layout *layout, int64_t tokens, int64_t step_tokens);

/* Bytes of sli_layout_pages that hold nothing: unfilled slots and padding. */
int64_t sli_layout_waste_bytes(const sli_layout *layout, const sli_architecture *architecture,
                               const sli_layout_options *options, int64_t tokens);

#endif
