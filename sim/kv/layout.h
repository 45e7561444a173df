/*
 * How the state of a model lies in the pages of one rank.
 *
 * Floor kv. All layers share one pool of equal pages, as in vLLM's hybrid KV cache manager. Layers
 * that keep the same amounts at the same times form a group; a block of a group holds block_tokens
 * tokens (or a state) of all its layers and takes block_pages pages. What a page has beyond the
 * bytes that its layers need is padding. A model of one sort of layers has one group and a page for
 * each block.
 *
 * How pages are made (vllm/v1/core/kv_cache_utils.py). Layers that keep equal bytes a token of
 * equal spans, or equal states, are of one type. Every layer has pages of one size: that of the
 * most bytes in a block. Blocks grow, in multiples of what was asked for, until such a page holds
 * the largest state; who needs fewer bytes a token has more tokens a block, as many times the
 * block as fit; the rest of the page and of a state's page is padding. A page of the pool is that
 * of n layers, n the number of layers of the rarest type, or of the commonest if that has less than
 * 1.25 times as many; a type of more layers than n takes several pages, the last filled up. Types
 * that are held alike are one group here, whatever their bytes.
 *
 * The engine has one growing group. Where layers that grow differ (an index here and none there),
 * and for DeepSeek V4, pages of several sizes lie in one pool instead: a page of the pool is their
 * greatest common divisor, no more than a unit to count in, nothing is filled up, and no size can
 * run short before the others, as it could in vLLM, which has a pool for each. A model whose layers
 * all grow has a page for a block of all layers, whether they differ or not.
 *
 * DeepSeek V4 (layers of kind compressed; vLLM blog of 2026-04-24): blocks of 256 tokens whatever
 * was asked for, windows in blocks of 64; each layer's part is aligned to 576 bytes, 37,440 bytes
 * for 64 entries in fp8_ds_mla. A compressor's state takes whole pages, each as large as 64 of the
 * rows that it makes, and is a state like any other; vLLM keeps its positions as a window.
 *
 * Where the latest rows of a sequence wait in bf16 to be quantised (KIVI; model/format.h), all rows
 * have their place as they will lie, and a fixed group holds buffers of R rows of each store, or of
 * all there ever are, in whole pages from the admission on. It has no part in how pages are made.
 * Rows that wait have two places and a buffer is not always full; both together count at most R
 * rows in bf16 of each store and a page more than what the format says.
 *
 * What a context holds of it stands in kv/layout_held.h. Must not know requests or scheduling. Pure
 * arithmetic, O(runs of layers).
 */
#ifndef SLUICE_KV_LAYOUT_H
#define SLUICE_KV_LAYOUT_H

#include "model/architecture.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum sli_group_kind {
    SLI_GROUP_GROWING,
    SLI_GROUP_SLIDING, /* span_tokens = W, the token itself and W - 1 before it */
    SLI_GROUP_CHUNKED, /* span_tokens = C, a multiple of align_tokens */
    SLI_GROUP_STATE,   /* findable where a step ended at the end of a block */
    SLI_GROUP_FIXED,   /* fixed_blocks */
    SLI_GROUP_KEPT,    /* kept; what is in it nobody else can use */
} sli_group_kind;

/* Whether it holds only what the next token looks back at. */
static inline bool sli_group_is_window(sli_group_kind kind) {
    return kind == SLI_GROUP_SLIDING || kind == SLI_GROUP_CHUNKED;
}

typedef struct sli_group {
    char name[32]; /* "full", "sliding 128", "state" ...: for tables */
    sli_group_kind kind;
    int64_t layers; /* that keep something in it */
    int64_t block_tokens;
    int64_t span_tokens;  /* sliding, chunked; else 0 */
    int64_t fixed_blocks; /* fixed; else 0 */
    const sl_kept *kept;  /* kept, as the architecture says; else NULL */
    int64_t block_pages;
    int64_t block_bytes; /* that the layers need: block_pages * page_bytes less padding */
} sli_group;

enum { SLI_GROUP_MAX = 8, SLI_PAGE_SIZE_MAX = 8 };

/*
 * The first group is always growing; where no layer grows it takes no pages. Its block_tokens are
 * the block of the engine. All groups' block_tokens divide align_tokens.
 */
typedef struct sli_layout {
    int64_t page_bytes;
    int64_t align_tokens; /* prefix hits are multiples of it */
    bool is_shareable;    /* contents can be found again; not with a fixed or a kept group */
    bool has_buffers;     /* the last group is that of rows that wait in bf16 */
    bool has_unit;        /* a page is only the unit of blocks of several sizes */
    int size_count;       /* of pages that layers would have apart; 0 without a unit */
    int64_t sizes_bytes[SLI_PAGE_SIZE_MAX]; /* each once, the largest ones, in falling order */
    int group_count;
    sli_group groups[SLI_GROUP_MAX];
} sli_layout;

/* Whether pages behind a window or a chunk return to the pool. */
typedef enum sli_window_pages {
    SLI_WINDOW_FREED,
    SLI_WINDOW_RESERVED, /* as much as a window and a step can need, from the admission on: what
                            vLLM reckons with; fixed ceil((W - 1 + max_batched_tokens) / B) + 1
                            blocks, of a chunk ceil((C + max_batched_tokens) / B), the sum of
                            tokens cut to the longest context */
    SLI_WINDOW_IGNORED,  /* windows and chunks are kept like full attention */
} sli_window_pages;

/* What a recurrent layer saves for later requests. */
typedef enum sli_state_saves {
    SLI_STATE_ALIGNED, /* the state at the end of each step that ends with a block: vLLM's align */
    SLI_STATE_NONE,    /* only the running one, in one fixed block; no prefix is ever found */
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

/*
 * What keeps an architecture from having a layout, as a clause for a message, goes to `why`
 * (SL_ERR_CONFIG): more than SLI_GROUP_MAX types of layers, none that keeps anything, a chunk that
 * is no multiple of a block, blocks that no memory holds or whose ends hardly ever meet. The layout
 * is untouched then.
 */
SL_NODISCARD sl_err sli_layout_make(const sli_architecture *architecture,
                                    const sli_layout_options *options, sli_layout *layout,
                                    char *why, size_t why_bytes);

/* What messages call the blocks of the pool: "pages" where layers of several sorts share them, else
 * "blocks", also without a layout. */
const char *sli_layout_unit(const sli_layout *layout);

#endif
