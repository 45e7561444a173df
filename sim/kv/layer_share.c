#include "kv/layer_share.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"
#include "model/kinds.h"
#include "model/state.h"

/* Of DeepSeek V4: the blog of vLLM of 2026-04-24, appendix; 37,440, 8,640 and 1,728 bytes for 64
 * entries of 584 bytes, 64 index keys of 132 and 2 entries. */
enum { V4_PAGE_ROWS = 64, V4_ALIGN_BYTES = 576 };

/* ---- Blocks ---- */

/* How a layer is cut into blocks. */
typedef struct block_grid {
    int64_t block_tokens;
    int64_t window_tokens; /* in a block of a window or a chunk */
    int64_t align_bytes;
    int64_t page_rows; /* in a page that states are put into; 0 = they take what they need */
} block_grid;

bool sli_layer_is_compressed(const sli_layer_part *mixer) {
    return mixer->kind == &sli_compressed_kind;
}

static block_grid grid_of(const sli_layer_part *mixer, int64_t block_tokens) {
    block_grid plain = {block_tokens, block_tokens, 1, 0};
    block_grid compressed = {block_tokens, V4_PAGE_ROWS, V4_ALIGN_BYTES, V4_PAGE_ROWS};
    return sli_layer_is_compressed(mixer) ? compressed : plain;
}

/* ---- Rows ---- */

/* The sort of a store: kind and span of the share that it belongs to. */
static sli_layer_share sort_of(const sli_store *store, const sli_layout_options *options) {
    const sli_growth *kept = &store->kept;
    sli_layer_share sort = {.kind = SLI_GROUP_GROWING};
    switch (kept->kind) {
    case SLI_GROWTH_CONSTANT:
        sort.kind = SLI_GROUP_STATE;
        break;
    case SLI_GROWTH_SAWTOOTH:
        sort = (sli_layer_share){.kind = SLI_GROUP_CHUNKED, .span_tokens = kept->step_tokens};
        break;
    case SLI_GROWTH_STEPS:
        if (kept->cap_rows != INT64_MAX) {
            SL_ASSERT(kept->step_tokens == 1); /* no kind keeps capped steps */
            sort = (sli_layer_share){.kind = SLI_GROUP_SLIDING, .span_tokens = kept->cap_rows};
        }
        break;
    case SLI_GROWTH_KEPT:
        sort = (sli_layer_share){.kind = SLI_GROUP_KEPT, .kept = kept->kept};
        break;
    }
    bool is_ignored = sli_group_is_window(sort.kind) && options->window_pages == SLI_WINDOW_IGNORED;
    return is_ignored ? (sli_layer_share){.kind = SLI_GROUP_GROWING} : sort;
}

sli_group_kind sli_layer_group_kind(const sli_store *store, const sli_layout_options *options) {
    return sort_of(store, options).kind;
}

int64_t sli_layer_rows_left(const sli_store *store, int64_t tokens) {
    const sli_growth *kept = &store->kept;
    switch (kept->kind) {
    case SLI_GROWTH_CONSTANT:
        return kept->cap_rows;
    case SLI_GROWTH_SAWTOOTH:
    case SLI_GROWTH_KEPT:
        return tokens;
    case SLI_GROWTH_STEPS:
        break;
    }
    return tokens / kept->step_tokens;
}

int64_t sli_layer_rows_kept(const sli_store *store, int64_t tokens) {
    return store->kept.kind == SLI_GROWTH_KEPT
               ? sli_kept_slots(store->kept.kept, sli_max_i64(1, tokens), tokens)
               : sli_growth_at(&store->kept, tokens);
}

/* ---- Shares ---- */

/* A compressor's state is listed behind the rows that it makes (model/compressed.c), whose pages it
 * takes: of *state_page_bytes. */
static sli_layer_share measure(const sli_store *store, const sli_layout_options *options,
                               const block_grid *grid, int64_t *state_page_bytes) {
    int64_t row_bytes = sli_state_row_rank_bytes(store, options->cache, options->tp);
    sli_layer_share share = sort_of(store, options);
    share.block_tokens = sli_group_is_window(share.kind) ? grid->window_tokens : grid->block_tokens;
    /* Rounded up to whole entries: so many may end in one block. */
    int64_t step_tokens = store->kept.kind == SLI_GROWTH_STEPS ? store->kept.step_tokens : 1;
    int64_t rows = sli_layer_rows_left(store, sli_round_up(share.block_tokens, step_tokens));
    share.need_bytes = rows * row_bytes;
    if (share.kind == SLI_GROUP_STATE) {
        share.laid_bytes = sli_round_up(share.need_bytes, *state_page_bytes);
        return share;
    }
    share.laid_bytes = sli_round_up(share.need_bytes, grid->align_bytes);
    if (grid->page_rows > 0) {
        *state_page_bytes = sli_round_up(grid->page_rows * row_bytes, grid->align_bytes);
    }
    return share;
}

bool sli_layer_share_is_like(const sli_layer_share *a, const sli_layer_share *b) {
    return a->kind == b->kind && a->span_tokens == b->span_tokens && a->kept == b->kept;
}

/* The keys and values of an earlier layer. */
static bool is_kept_elsewhere(const sli_store *store) {
    return store->kept.kind == SLI_GROWTH_CONSTANT && store->kept.cap_rows == 0;
}

int sli_layer_shares(const sli_layer_part *mixer, const sli_layout_options *options,
                     int64_t block_tokens, sli_layer_share shares[SLI_STORE_MAX]) {
    const block_grid grid = grid_of(mixer, block_tokens);
    int64_t state_page_bytes = 1;
    int count = 0;
    for (int i = 0; i < mixer->facts.store_count; i++) {
        const sli_store *store = &mixer->facts.stores[i];
        if (is_kept_elsewhere(store)) {
            continue;
        }
        sli_layer_share share = measure(store, options, &grid, &state_page_bytes);
        int j = 0;
        while (j < count && !sli_layer_share_is_like(&shares[j], &share)) {
            j++;
        }
        if (j < count) {
            shares[j].need_bytes += share.need_bytes;
            shares[j].laid_bytes += share.laid_bytes;
        } else {
            shares[count++] = share;
        }
    }
    return count;
}

/* ---- Pages of their own ---- */

static int pages_of_stores(const sli_layer_part *mixer, const sli_layout_options *options,
                           const block_grid *grid, int64_t pages_bytes[SLI_STORE_MAX]) {
    int64_t state_page_bytes = 1;
    int count = 0;
    for (int i = 0; i < mixer->facts.store_count; i++) {
        const sli_store *store = &mixer->facts.stores[i];
        if (!is_kept_elsewhere(store)) {
            sli_layer_share share = measure(store, options, grid, &state_page_bytes);
            bool is_state = share.kind == SLI_GROUP_STATE;
            pages_bytes[count++] = is_state ? state_page_bytes : share.laid_bytes;
        }
    }
    return count;
}

int sli_layer_pages(const sli_layer_part *mixer, const sli_layout_options *options,
                    int64_t block_tokens, int64_t pages_bytes[SLI_STORE_MAX]) {
    const block_grid grid = grid_of(mixer, block_tokens);
    if (grid.page_rows > 0) {
        return pages_of_stores(mixer, options, &grid, pages_bytes);
    }
    sli_layer_share shares[SLI_STORE_MAX];
    int count = sli_layer_shares(mixer, options, block_tokens, shares);
    for (int i = 0; i < count; i++) {
        pages_bytes[i] = shares[i].laid_bytes;
    }
    return count;
}
