#include "kv/layout.h"

#include "base/check.h"
#include "base/minmax.h"
#include "model/kinds.h"
#include "model/state.h"

#include <stdarg.h>
#include <stdio.h>

/* The blocks of DeepSeek V4: the blog of vLLM of 2026-04-24, appendix; 37,440, 8,640 and 1,728
 * bytes for 64 entries of 584 bytes, 64 index keys of 132 and 2 entries. */
enum { V4_BLOCK_TOKENS = 256, V4_PAGE_ROWS = 64, V4_ALIGN_BYTES = 576 };

/* No pool and no block reaches it; sums of a few stay below 2^63. */
static const double beyond_bytes = 0x1p60;

/* Ends of blocks meet after so many of the shortest at the latest. Known models need 4. */
enum { MEETING_BLOCKS_MAX = 1024 };

static int64_t divide_up(int64_t amount, int64_t parts) {
    return (amount + parts - 1) / parts;
}

static int64_t round_up(int64_t amount, int64_t unit) {
    return divide_up(amount, unit) * unit;
}

/* The other one when one is 0. */
static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

SL_PRINTF(3, 4) static sl_err refuse(char *why, size_t why_bytes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
    return SL_ERR_CONFIG;
}

static sl_err refuse_sorts(char *why, size_t why_bytes) {
    return refuse(why, why_bytes, "its layers keep more than %d different things",
                  (int)SLI_GROUP_MAX);
}

/* ---- What a layer keeps ---- */

/* Of one sort, in a block. */
typedef struct layer_share {
    sli_group_kind kind; /* never fixed: that is decided at the end */
    int64_t span_tokens;
    const sli_kept *kept;
    int64_t block_tokens;
    int64_t need_bytes;
    int64_t laid_bytes; /* that it takes where it does not share the pages of other types */
} layer_share;

/* How a layer is cut into blocks. */
typedef struct block_grid {
    int64_t block_tokens;
    int64_t window_tokens; /* in a block of a window or a chunk */
    int64_t align_bytes;
    int64_t page_rows; /* in a page that states are put into; 0 = they take what they need */
} block_grid;

static bool is_compressed(const sli_layer_part *mixer) {
    return mixer->kind == &sli_compressed_kind;
}

static block_grid grid_of(const sli_layer_part *mixer, int64_t block_tokens) {
    block_grid plain = {block_tokens, block_tokens, 1, 0};
    block_grid compressed = {block_tokens, V4_PAGE_ROWS, V4_ALIGN_BYTES, V4_PAGE_ROWS};
    return is_compressed(mixer) ? compressed : plain;
}

static bool is_window(sli_group_kind kind) {
    return kind == SLI_GROUP_SLIDING || kind == SLI_GROUP_CHUNKED;
}

/* The sort of a store: kind and span of the share that it belongs to. */
static layer_share sort_of(const sli_store *store, const sli_layout_options *options) {
    const sli_growth *kept = &store->kept;
    layer_share sort = {.kind = SLI_GROUP_GROWING};
    switch (kept->kind) {
    case SLI_GROWTH_CONSTANT:
        sort.kind = SLI_GROUP_STATE;
        break;
    case SLI_GROWTH_SAWTOOTH:
        sort = (layer_share){.kind = SLI_GROUP_CHUNKED, .span_tokens = kept->step_tokens};
        break;
    case SLI_GROWTH_STEPS:
        if (kept->cap_rows != INT64_MAX) {
            SL_ASSERT(kept->step_tokens == 1); /* no kind keeps capped steps */
            sort = (layer_share){.kind = SLI_GROUP_SLIDING, .span_tokens = kept->cap_rows};
        }
        break;
    case SLI_GROWTH_KEPT:
        sort = (layer_share){.kind = SLI_GROUP_KEPT, .kept = kept->kept};
        break;
    }
    bool is_ignored = is_window(sort.kind) && options->window_pages == SLI_WINDOW_IGNORED;
    return is_ignored ? (layer_share){.kind = SLI_GROUP_GROWING} : sort;
}

/* Rows that so many tokens leave when none is dropped; of a state all there are. */
static int64_t rows_left(const sli_store *store, int64_t tokens) {
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

/* A compressor's state is listed behind the rows that it makes (model/compressed.c), whose pages it
 * takes: of *state_page_bytes. */
static layer_share measure(const sli_store *store, const sli_layout_options *options,
                           const block_grid *grid, int64_t *state_page_bytes) {
    int64_t row_bytes = sli_state_row_rank_bytes(store, options->cache, options->tp);
    layer_share share = sort_of(store, options);
    share.block_tokens = is_window(share.kind) ? grid->window_tokens : grid->block_tokens;
    /* Rounded up to whole entries: so many may end in one block. */
    int64_t step_tokens = store->kept.kind == SLI_GROWTH_STEPS ? store->kept.step_tokens : 1;
    share.need_bytes = rows_left(store, round_up(share.block_tokens, step_tokens)) * row_bytes;
    if (share.kind == SLI_GROUP_STATE) {
        share.laid_bytes = round_up(share.need_bytes, *state_page_bytes);
        return share;
    }
    share.laid_bytes = round_up(share.need_bytes, grid->align_bytes);
    if (grid->page_rows > 0) {
        *state_page_bytes = round_up(grid->page_rows * row_bytes, grid->align_bytes);
    }
    return share;
}

static bool is_same_sort(const layer_share *a, const layer_share *b) {
    return a->kind == b->kind && a->span_tokens == b->span_tokens && a->kept == b->kept;
}

/* The keys and values of an earlier layer. */
static bool is_kept_elsewhere(const sli_store *store) {
    return store->kept.kind == SLI_GROWTH_CONSTANT && store->kept.cap_rows == 0;
}

/* Stores of one sort, as keys and values, are one share. */
static int split_layer(const sli_part_facts *facts, const sli_layout_options *options,
                       const block_grid *grid, layer_share shares[SLI_STORE_MAX]) {
    int64_t state_page_bytes = 1;
    int count = 0;
    for (int i = 0; i < facts->store_count; i++) {
        if (is_kept_elsewhere(&facts->stores[i])) {
            continue;
        }
        layer_share share = measure(&facts->stores[i], options, grid, &state_page_bytes);
        int j = 0;
        while (j < count && !is_same_sort(&shares[j], &share)) {
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

/* ---- Types of layers ---- */

typedef struct layer_type {
    layer_share layer; /* the first of them */
    int64_t layers;
    int64_t need_bytes; /* of all */
    int64_t laid_bytes;
    int64_t block_pages; /* that all of them take for a block */
    bool is_mixed;       /* they differ, as only those that grow may */
} layer_type;

/* The first is that of all layers that grow, even where there are none. */
typedef struct type_list {
    layer_type types[SLI_GROUP_MAX];
    int count;
    int64_t layers; /* of all types; one that keeps several things counts for each */
    bool has_compressed;
} type_list;

static bool is_type_of(const layer_type *type, const layer_share *share) {
    const layer_share *layer = &type->layer;
    bool is_alike = layer->block_tokens == share->block_tokens &&
                    layer->need_bytes == share->need_bytes;
    return is_same_sort(layer, share) && (share->kind == SLI_GROUP_GROWING || is_alike);
}

/* NULL when there are too many. */
static layer_type *find_type(type_list *list, const layer_share *share) {
    for (int i = 0; i < list->count; i++) {
        if (is_type_of(&list->types[i], share)) {
            return &list->types[i];
        }
    }
    if (list->count == SLI_GROUP_MAX) {
        return NULL;
    }
    list->types[list->count] = (layer_type){.layer = *share};
    return &list->types[list->count++];
}

static void add_layers(layer_type *type, const layer_share *share, int64_t layers) {
    if (type->layers == 0) {
        type->layer = *share;
    }
    type->is_mixed = type->is_mixed || type->layer.need_bytes != share->need_bytes;
    type->layers += layers;
    type->need_bytes += layers * share->need_bytes;
    type->laid_bytes += layers * share->laid_bytes;
}

static bool has_compressed(const sli_architecture *architecture) {
    const sli_layer_run *runs = architecture->layers.rows;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        if (is_compressed(runs[i].mixer)) {
            return true;
        }
    }
    return false;
}

static sl_err collect_types(const sli_architecture *architecture, const sli_layout_options *options,
                            type_list *list, char *why, size_t why_bytes) {
    const sli_layer_run *runs = architecture->layers.rows;
    bool is_v4 = has_compressed(architecture);
    int64_t block_tokens = is_v4 ? V4_BLOCK_TOKENS : options->block_tokens;
    *list = (type_list){.count = 1, .has_compressed = is_v4};
    list->types[0].layer = (layer_share){.kind = SLI_GROUP_GROWING, .block_tokens = block_tokens};
    double all_bytes = 0.0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        layer_share shares[SLI_STORE_MAX];
        block_grid grid = grid_of(runs[i].mixer, block_tokens);
        int count = split_layer(&runs[i].mixer->facts, options, &grid, shares);
        for (int j = 0; j < count; j++) {
            layer_type *type = find_type(list, &shares[j]);
            if (type == NULL) {
                return refuse_sorts(why, why_bytes);
            }
            all_bytes += (double)runs[i].count * (double)shares[j].laid_bytes;
            if (all_bytes > beyond_bytes) {
                return refuse(why, why_bytes, "a block of all its layers is beyond all memory");
            }
            add_layers(type, &shares[j], runs[i].count);
            list->layers += runs[i].count;
        }
    }
    if (all_bytes == 0.0) {
        return refuse(why, why_bytes, "no layer keeps anything");
    }
    return SL_OK;
}

/* ---- Pages ---- */

/* Pages of several sizes, and their common unit. */
static int64_t lay_apart(type_list *list) {
    int64_t page_bytes = 0;
    for (int i = 0; i < list->count; i++) {
        page_bytes = common_divisor(list->types[i].laid_bytes, page_bytes);
    }
    for (int i = 0; i < list->count; i++) {
        list->types[i].block_pages = list->types[i].laid_bytes / page_bytes;
    }
    return page_bytes;
}

/* The most bytes that a layer needs in a block: of rows, and of states. */
static int64_t largest_need(const type_list *list, bool is_state) {
    int64_t need_bytes = 0;
    for (int i = 0; i < list->count; i++) {
        const layer_share *layer = &list->types[i].layer;
        if ((layer->kind == SLI_GROUP_STATE) == is_state) {
            need_bytes = sli_max_i64(need_bytes, layer->need_bytes);
        }
    }
    return need_bytes;
}

/* Whose parts make up a page of the pool. */
static int64_t layers_of_page(const type_list *list) {
    int64_t fewest = INT64_MAX;
    int64_t most = 0;
    for (int i = 0; i < list->count; i++) {
        int64_t layers = list->types[i].layers;
        if (layers > 0) {
            fewest = sli_min_i64(fewest, layers);
            most = sli_max_i64(most, layers);
        }
    }
    return 4 * most < 5 * fewest ? most : fewest; /* 1.25 times */
}

static void enlarge(layer_type *type, int64_t factor) {
    type->layer.block_tokens *= factor;
    type->need_bytes *= factor;
}

/* Pages of one size for a layer of any type. */
static sl_err lay_evenly(type_list *list, int64_t *page_bytes, char *why, size_t why_bytes) {
    int64_t rows_bytes = largest_need(list, false);
    int64_t state_bytes = largest_need(list, true);
    int64_t growth = rows_bytes > 0 ? sli_max_i64(divide_up(state_bytes, rows_bytes), 1) : 1;
    int64_t layer_bytes = sli_max_i64(growth * rows_bytes, state_bytes);
    int64_t layers = layers_of_page(list);
    double all_bytes = (double)layer_bytes * (double)list->layers;
    layer_type *growing = &list->types[0];
    if (growth > SLI_GROWTH_TOKENS_MAX / growing->layer.block_tokens || all_bytes > beyond_bytes) {
        return refuse(why, why_bytes, "its states are too large to share pages with its rows");
    }
    for (int i = 0; i < list->count; i++) {
        layer_type *type = &list->types[i];
        int64_t need_bytes = type->layer.need_bytes;
        if (type->layer.kind == SLI_GROUP_STATE) {
            type->layer.block_tokens = growing->layer.block_tokens;
        } else {
            enlarge(type, need_bytes > 0 ? growth * (rows_bytes / need_bytes) : growth);
        }
        type->block_pages = divide_up(type->layers, layers);
    }
    *page_bytes = layers * layer_bytes;
    return SL_OK;
}

/* ---- Groups ---- */

static sli_group reserve(sli_group window, const sli_layout_options *options) {
    bool is_sliding = window.kind == SLI_GROUP_SLIDING;
    int64_t past_tokens = is_sliding ? window.span_tokens - 1 : window.span_tokens;
    int64_t tokens = sli_min_i64(past_tokens + options->max_batched_tokens,
                                 options->max_model_tokens);
    window.kind = SLI_GROUP_FIXED;
    window.span_tokens = 0;
    window.fixed_blocks = divide_up(tokens, window.block_tokens) + (is_sliding ? 1 : 0);
    return window;
}

/* A state that nobody will find is written over where it lies. */
static sli_group keep_in_place(sli_group group) {
    group.kind = SLI_GROUP_FIXED;
    group.fixed_blocks = 1;
    return group;
}

static sli_group make_group(const layer_type *type, const sli_layout_options *options) {
    static const char *const names[] = {
        [SLI_GROUP_GROWING] = "full",    [SLI_GROUP_SLIDING] = "sliding",
        [SLI_GROUP_CHUNKED] = "chunked", [SLI_GROUP_STATE] = "state",
        [SLI_GROUP_KEPT] = "kept",
    };
    const layer_share *layer = &type->layer;
    sli_group group = {
        .kind = layer->kind,
        .layers = type->layers,
        .block_tokens = layer->block_tokens,
        .span_tokens = layer->span_tokens,
        .kept = layer->kept,
        .block_pages = type->block_pages,
        .block_bytes = type->need_bytes,
    };
    if (!is_window(layer->kind)) {
        snprintf(group.name, sizeof group.name, "%s", names[layer->kind]);
        bool is_unsaved = layer->kind == SLI_GROUP_STATE && options->state_saves == SLI_STATE_NONE;
        return is_unsaved ? keep_in_place(group) : group;
    }
    snprintf(group.name, sizeof group.name, "%s %lld", names[layer->kind],
             (long long)layer->span_tokens);
    return options->window_pages == SLI_WINDOW_RESERVED ? reserve(group, options) : group;
}

/* Whether both are always held at the same times. */
static bool are_alike(const sli_group *a, const sli_group *b) {
    return a->kind == b->kind && a->block_tokens == b->block_tokens &&
           a->span_tokens == b->span_tokens && a->fixed_blocks == b->fixed_blocks &&
           a->kept == b->kept;
}

static void add_group(sli_layout *layout, const sli_group *group) {
    for (int i = 0; i < layout->group_count; i++) {
        sli_group *other = &layout->groups[i];
        if (are_alike(other, group)) {
            other->layers += group->layers;
            other->block_pages += group->block_pages;
            other->block_bytes += group->block_bytes;
            return;
        }
    }
    layout->groups[layout->group_count++] = *group;
}

/* ---- Rows that wait in bf16 ---- */

/* Whether its rows come in the format of the cache; others never wait. */
static bool is_formatted(const sli_store *store) {
    return store->element_bytes == 0;
}

/* No more than there ever are. */
static int64_t buffer_rows(const sli_store *store, const sli_layout_options *options) {
    const sli_growth *kept = &store->kept;
    bool is_chunk = kept->kind == SLI_GROWTH_SAWTOOTH;
    int64_t most = sli_min_i64(is_chunk ? kept->step_tokens : kept->cap_rows,
                               options->max_model_tokens);
    return is_formatted(store)
               ? sli_min_i64(sli_format_residual_most(options->cache, store->sort), most)
               : 0;
}

/* Rows that are kept after so many tokens; of those that are thrown out all are prompt. */
static int64_t kept_rows(const sli_store *store, int64_t tokens) {
    return store->kept.kind == SLI_GROWTH_KEPT
               ? sli_kept_slots(store->kept.kept, sli_max_i64(1, tokens), tokens)
               : sli_growth_at(&store->kept, tokens);
}

static int64_t waiting_rows(const sli_store *store, const sli_layout_options *options,
                            int64_t tokens) {
    int64_t kept = kept_rows(store, tokens);
    return is_formatted(store)
               ? sli_min_i64(sli_format_residual_rows(options->cache, store->sort, tokens), kept)
               : 0;
}

/* As it waits. */
static int64_t waiting_row_bytes(const sli_store *store, const sli_layout_options *options) {
    return sli_state_row_rank_bytes(store, &sli_cache_formats[0], options->tp);
}

static int64_t layer_buffers_bytes(const sli_part_facts *facts, const sli_layout_options *options) {
    int64_t bytes = 0;
    for (int i = 0; i < facts->store_count; i++) {
        const sli_store *store = &facts->stores[i];
        bytes += buffer_rows(store, options) * waiting_row_bytes(store, options);
    }
    return bytes;
}

/* One block for all layers. */
static sl_err add_buffers(const sli_architecture *architecture, const sli_layout_options *options,
                          sli_layout *layout, char *why, size_t why_bytes) {
    const sli_layer_run *runs = architecture->layers.rows;
    sli_group group = {
        .name = "waiting in bf16",
        .kind = SLI_GROUP_FIXED,
        .block_tokens = layout->groups[0].block_tokens,
        .fixed_blocks = 1,
    };
    double all_bytes = 0.0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        int64_t bytes = layer_buffers_bytes(&runs[i].mixer->facts, options);
        all_bytes += (double)runs[i].count * (double)bytes;
        if (all_bytes > beyond_bytes) {
            return refuse(why, why_bytes, "the rows that wait in bf16 are beyond all memory");
        }
        group.block_bytes += runs[i].count * bytes;
        group.layers += bytes > 0 ? runs[i].count : 0;
    }
    if (group.block_bytes == 0) {
        return SL_OK;
    }
    if (layout->group_count == SLI_GROUP_MAX) {
        return refuse_sorts(why, why_bytes);
    }
    group.block_pages = divide_up(group.block_bytes, layout->page_bytes);
    layout->groups[layout->group_count++] = group;
    layout->has_buffers = true;
    return SL_OK;
}

/* ---- All of them ---- */

static bool is_shareable(const sli_layout *layout) {
    for (int i = 0; i < layout->group_count; i++) {
        sli_group_kind kind = layout->groups[i].kind;
        if (kind == SLI_GROUP_FIXED || kind == SLI_GROUP_KEPT) {
            return false;
        }
    }
    return true;
}

/* Where blocks of all groups end. */
static sl_err align(sli_layout *layout, char *why, size_t why_bytes) {
    int64_t align_tokens = 1;
    for (int i = 0; i < layout->group_count; i++) {
        int64_t block_tokens = layout->groups[i].block_tokens;
        int64_t times = block_tokens / common_divisor(align_tokens, block_tokens);
        if (align_tokens > SLI_GROWTH_TOKENS_MAX / times) {
            return refuse(why, why_bytes, "the blocks of its layers never end together");
        }
        align_tokens *= times;
    }
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        if (align_tokens / group->block_tokens > MEETING_BLOCKS_MAX) {
            return refuse(why, why_bytes,
                          "the blocks of its layers end together only every %lld tokens",
                          (long long)align_tokens);
        }
        if (group->kind == SLI_GROUP_CHUNKED && group->span_tokens % align_tokens != 0) {
            return refuse(why, why_bytes,
                          "a chunk of %lld tokens is no multiple of a block of %lld tokens",
                          (long long)group->span_tokens, (long long)align_tokens);
        }
    }
    layout->align_tokens = align_tokens;
    return SL_OK;
}

sl_err sli_layout_make(const sli_architecture *architecture, const sli_layout_options *options,
                       sli_layout *layout, char *why, size_t why_bytes) {
    SL_ASSERT(options->block_tokens >= 1 && options->tp >= 1);
    type_list list;
    sli_layout made = {0};
    SL_TRY(collect_types(architecture, options, &list, why, why_bytes));
    bool is_apart = list.has_compressed || list.types[0].is_mixed;
    if (is_apart) {
        made.page_bytes = lay_apart(&list);
    } else {
        SL_TRY(lay_evenly(&list, &made.page_bytes, why, why_bytes));
    }
    for (int i = 0; i < list.count; i++) {
        sli_group group = make_group(&list.types[i], options);
        add_group(&made, &group);
    }
    SL_TRY(add_buffers(architecture, options, &made, why, why_bytes));
    made.has_unit = is_apart && made.group_count > 1;
    made.is_shareable = is_shareable(&made);
    SL_TRY(align(&made, why, why_bytes));
    *layout = made;
    return SL_OK;
}

/* ---- What a context holds ---- */

/* The blocks in front of the first one that a token behind `tokens` looks back at. */
static int64_t passed_blocks(const sli_group *group, int64_t tokens) {
    switch (group->kind) {
    case SLI_GROUP_SLIDING:
        return sli_max_i64(0, tokens - group->span_tokens + 1) / group->block_tokens;
    case SLI_GROUP_CHUNKED:
        return tokens / group->span_tokens * (group->span_tokens / group->block_tokens);
    case SLI_GROUP_GROWING:
    case SLI_GROUP_STATE:
    case SLI_GROUP_FIXED:
    case SLI_GROUP_KEPT:
        break;
    }
    return 0;
}

int64_t sli_group_request_step_blocks(const sli_group *group, int64_t prompt_tokens, int64_t tokens,
                                      int64_t end_tokens) {
    SL_DCHECK(0 <= tokens && tokens <= end_tokens);
    int64_t begun_blocks = divide_up(end_tokens, group->block_tokens);
    switch (group->kind) {
    case SLI_GROUP_FIXED:
        return group->fixed_blocks;
    case SLI_GROUP_STATE:
        return (tokens > 0 ? 1 : 0) +
               (begun_blocks > divide_up(tokens, group->block_tokens) ? 1 : 0);
    case SLI_GROUP_KEPT:
        return divide_up(sli_kept_step_slots(group->kept, prompt_tokens, tokens, end_tokens),
                         group->block_tokens);
    case SLI_GROUP_GROWING:
    case SLI_GROUP_SLIDING:
    case SLI_GROUP_CHUNKED:
        break;
    }
    return begun_blocks - passed_blocks(group, tokens);
}

/* A context that is all prompt. */
static int64_t prompt_of(int64_t tokens) {
    return sli_max_i64(1, tokens);
}

int64_t sli_group_step_blocks(const sli_group *group, int64_t tokens, int64_t end_tokens) {
    return sli_group_request_step_blocks(group, prompt_of(end_tokens), tokens, end_tokens);
}

int64_t sli_group_blocks(const sli_group *group, int64_t tokens) {
    return sli_group_step_blocks(group, tokens, tokens);
}

static int64_t step_pages(const sli_layout *layout, int64_t prompt_tokens, int64_t tokens,
                          int64_t end_tokens) {
    int64_t pages = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        pages += group->block_pages *
                 sli_group_request_step_blocks(group, prompt_tokens, tokens, end_tokens);
    }
    return pages;
}

int64_t sli_layout_request_pages(const sli_layout *layout, int64_t prompt_tokens, int64_t tokens) {
    return step_pages(layout, prompt_tokens, tokens, tokens);
}

int64_t sli_layout_pages(const sli_layout *layout, int64_t tokens) {
    return sli_layout_request_pages(layout, prompt_of(tokens), tokens);
}

/* ---- The most that it ever holds ---- */

/*
 * For a step of given length from T on, what is held repeats in T after align_tokens, but that the
 * growing group has more, and the kept one on either side of the end of the prompt: of two such
 * places the later one counts, unless a chunk ended in between. Between places where a block begins
 * it only falls. So it is enough to look, on either side, at those near the last step, and near the
 * last ends of chunks.
 */

/* Steps of one length that begin on one side of the end of the prompt, from `first` on. */
typedef struct step_range {
    const sli_layout *layout;
    int64_t prompt_tokens;
    int64_t step_tokens;
    int64_t first;
} step_range;

static int64_t pages_up_to(const step_range *range, int64_t end_tokens) {
    return step_pages(range->layout, range->prompt_tokens, end_tokens - range->step_tokens,
                      end_tokens);
}

static int64_t kept_blocks(const step_range *range, const sli_group *group, int64_t end_tokens) {
    return sli_group_request_step_blocks(group, range->prompt_tokens, range->first, end_tokens);
}

/* The end behind `low` and up to `high`, where it is, at which the kept group first has more than
 * so many blocks. */
static int64_t kept_begin(const step_range *range, const sli_group *group, int64_t blocks,
                          int64_t low, int64_t high) {
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(kept_blocks(range, group, middle) > blocks ? &high : &low) = middle;
    }
    return high;
}

/* At the ends from `low` to `high` where a block of the group begins. */
static int64_t most_of_group(const step_range *range, const sli_group *group, int64_t low,
                             int64_t high) {
    int64_t most = 0;
    if (group->kind == SLI_GROUP_KEPT) {
        int64_t last_blocks = kept_blocks(range, group, high);
        for (int64_t blocks = kept_blocks(range, group, low); blocks < last_blocks; blocks++) {
            int64_t end = kept_begin(range, group, blocks, low, high);
            most = sli_max_i64(most, pages_up_to(range, end));
        }
        return most;
    }
    int64_t end = round_up(low - 1, group->block_tokens) + 1;
    for (; end <= high; end += group->block_tokens) {
        most = sli_max_i64(most, pages_up_to(range, end));
    }
    return most;
}

/* The most of all steps that begin at T = first .. last, near the last one. */
static int64_t latest_pages(const step_range *range, int64_t last) {
    int64_t first = sli_max_i64(range->first, last - range->layout->align_tokens + 1);
    int64_t low = first + range->step_tokens;
    int64_t most = pages_up_to(range, low);
    for (int i = 0; i < range->layout->group_count; i++) {
        most = sli_max_i64(
            most, most_of_group(range, &range->layout->groups[i], low, last + range->step_tokens));
    }
    return most;
}

/* After so many tokens all chunks end together; at most `limit_tokens`. */
static int64_t chunk_period(const sli_layout *layout, int64_t limit_tokens) {
    int64_t period_tokens = 1;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        if (group->kind == SLI_GROUP_CHUNKED) {
            int64_t times = group->span_tokens / common_divisor(group->span_tokens, period_tokens);
            period_tokens = sli_min_i64(times, divide_up(limit_tokens, period_tokens)) *
                            period_tokens;
        }
    }
    return sli_min_i64(period_tokens, limit_tokens);
}

/* The most of those that begin right before a chunk ends, at or before `last`. */
static int64_t chunk_end_pages(const step_range *range, int64_t last) {
    const sli_layout *layout = range->layout;
    int64_t from = sli_max_i64(range->first, last - chunk_period(layout, last));
    int64_t most = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        int64_t span_tokens = group->span_tokens;
        if (group->kind == SLI_GROUP_CHUNKED) {
            for (int64_t end = last / span_tokens * span_tokens; end > from; end -= span_tokens) {
                most = sli_max_i64(most, latest_pages(range, end - 1));
            }
        }
    }
    return most;
}

/* Of all steps up to `tokens` that begin from range->first to `last`. Of those that `tokens` cuts
 * the first one counts, if no whole one does. */
static int64_t range_pages(const step_range *range, int64_t last, int64_t tokens) {
    int64_t last_whole = sli_min_i64(last, tokens - range->step_tokens);
    if (last_whole < range->first) {
        return step_pages(range->layout, range->prompt_tokens, range->first, tokens);
    }
    return sli_max_i64(latest_pages(range, last_whole), chunk_end_pages(range, last_whole));
}

int64_t sli_layout_request_peak_pages(const sli_layout *layout, int64_t prompt_tokens,
                                      int64_t tokens, int64_t step_tokens) {
    SL_DCHECK(prompt_tokens >= 1 && tokens >= 0 && step_tokens >= 1);
    step_range range = {layout, prompt_tokens, step_tokens, 1};
    int64_t most = step_pages(layout, prompt_tokens, 0, sli_min_i64(tokens, step_tokens));
    int64_t last_within = sli_min_i64(prompt_tokens - 1, tokens);
    if (last_within >= 1) {
        /* Behind its first token a context has a state besides that which comes. */
        most = sli_max_i64(most, range_pages(&range, last_within, tokens));
    }
    range.first = prompt_tokens;
    return prompt_tokens <= tokens ? sli_max_i64(most, range_pages(&range, tokens, tokens)) : most;
}

int64_t sli_layout_peak_pages(const sli_layout *layout, int64_t tokens, int64_t step_tokens) {
    return sli_layout_request_peak_pages(layout, prompt_of(tokens), tokens, step_tokens);
}

/* ---- How it is called ---- */

const char *sli_layout_unit(const sli_layout *layout) {
    int holding = 0;
    for (int i = 0; layout != NULL && i < layout->group_count; i++) {
        holding += layout->groups[i].block_pages > 0;
    }
    return holding > 1 ? "pages" : "blocks";
}

/* ---- What of it holds nothing ---- */

/* Bytes of a group that come with its tokens or its state; 0 of those that are counted store by
 * store: entries that end inside a block, and what a reserved window has use for. */
static int64_t held_bytes(const sli_group *group, int64_t tokens) {
    int64_t passed_tokens = passed_blocks(group, tokens) * group->block_tokens;
    switch (group->kind) {
    case SLI_GROUP_SLIDING:
    case SLI_GROUP_CHUNKED:
        return (tokens - passed_tokens) * (group->block_bytes / group->block_tokens);
    case SLI_GROUP_STATE:
        return sli_group_blocks(group, tokens) * group->block_bytes;
    case SLI_GROUP_GROWING:
    case SLI_GROUP_FIXED:
    case SLI_GROUP_KEPT:
        break;
    }
    return 0;
}

static int64_t held_rows(const sli_store *store, const sli_layout_options *options,
                         int64_t tokens) {
    sli_group_kind kind = sort_of(store, options).kind;
    if (kind == SLI_GROUP_GROWING) {
        return rows_left(store, tokens);
    }
    bool is_reserved = is_window(kind) && options->window_pages == SLI_WINDOW_RESERVED;
    return is_reserved || kind == SLI_GROUP_KEPT ? kept_rows(store, tokens) : 0;
}

/* Of the rows that are kept, at most; those that wait are in their buffer besides what they will
 * take, which holds nothing yet. */
static int64_t held_store_bytes(const sli_store *store, const sli_layout_options *options,
                                int64_t tokens) {
    int64_t row_bytes = sli_state_row_rank_bytes(store, options->cache, options->tp);
    int64_t more_bytes = waiting_row_bytes(store, options) - row_bytes;
    return held_rows(store, options, tokens) * row_bytes +
           waiting_rows(store, options, tokens) * more_bytes;
}

int64_t sli_layout_waste_bytes(const sli_layout *layout, const sli_architecture *architecture,
                               const sli_layout_options *options, int64_t tokens) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t waste_bytes = sli_layout_pages(layout, tokens) * layout->page_bytes;
    for (int i = 0; i < layout->group_count; i++) {
        waste_bytes -= held_bytes(&layout->groups[i], tokens);
    }
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        for (int j = 0; j < facts->store_count; j++) {
            waste_bytes -= runs[i].count * held_store_bytes(&facts->stores[j], options, tokens);
        }
    }
    return waste_bytes;
}
