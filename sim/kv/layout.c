#include "kv/layout.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"
#include "kv/layer_share.h"
#include "kv/waiting_rows.h"

#include <stdarg.h>
#include <stdio.h>

/* Of DeepSeek V4: the blog of vLLM of 2026-04-24, appendix. */
enum { V4_BLOCK_TOKENS = 256 };

/* No pool and no block reaches it; sums of a few stay below 2^63. */
static const double beyond_bytes = 0x1p60;

/* Ends of blocks meet after so many of the shortest at the latest. Known models need 4. */
enum { MEETING_BLOCKS_MAX = 1024 };

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

/* ---- Types of layers ---- */

typedef struct layer_type {
    sli_layer_share layer; /* the first of them */
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

static bool is_type_of(const layer_type *type, const sli_layer_share *share) {
    const sli_layer_share *layer = &type->layer;
    bool is_alike = layer->block_tokens == share->block_tokens &&
                    layer->need_bytes == share->need_bytes;
    return sli_layer_share_is_like(layer, share) && (share->kind == SLI_GROUP_GROWING || is_alike);
}

/* NULL when there are too many. */
static layer_type *find_type(type_list *list, const sli_layer_share *share) {
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

static void add_layers(layer_type *type, const sli_layer_share *share, int64_t layers) {
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
        if (sli_layer_is_compressed(runs[i].mixer)) {
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
    list->types[0].layer = (sli_layer_share){.kind = SLI_GROUP_GROWING,
                                             .block_tokens = block_tokens};
    double all_bytes = 0.0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        sli_layer_share shares[SLI_STORE_MAX];
        int count = sli_layer_shares(runs[i].mixer, options, block_tokens, shares);
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
        page_bytes = sli_common_divisor(list->types[i].laid_bytes, page_bytes);
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
        const sli_layer_share *layer = &list->types[i].layer;
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
    int64_t growth = rows_bytes > 0 ? sli_max_i64(sli_divide_up(state_bytes, rows_bytes), 1) : 1;
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
        type->block_pages = sli_divide_up(type->layers, layers);
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
    window.fixed_blocks = sli_divide_up(tokens, window.block_tokens) + (is_sliding ? 1 : 0);
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
    const sli_layer_share *layer = &type->layer;
    sli_group group = {
        .kind = layer->kind,
        .layers = type->layers,
        .block_tokens = layer->block_tokens,
        .span_tokens = layer->span_tokens,
        .kept = layer->kept,
        .block_pages = type->block_pages,
        .block_bytes = type->need_bytes,
    };
    if (!sli_group_is_window(layer->kind)) {
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

/* ---- Buffers ---- */

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
        int64_t bytes = sli_waiting_buffers_bytes(&runs[i].mixer->facts, options);
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
    group.block_pages = sli_divide_up(group.block_bytes, layout->page_bytes);
    layout->groups[layout->group_count++] = group;
    layout->has_buffers = true;
    return SL_OK;
}

/* ---- Pages of several sizes ---- */

static void add_size(sli_layout *layout, int64_t page_bytes) {
    int at = 0;
    while (at < layout->size_count && layout->sizes_bytes[at] > page_bytes) {
        at++;
    }
    bool is_there = at < layout->size_count && layout->sizes_bytes[at] == page_bytes;
    if (is_there || at == SLI_PAGE_SIZE_MAX) {
        return;
    }
    int last = layout->size_count < SLI_PAGE_SIZE_MAX ? layout->size_count++
                                                      : SLI_PAGE_SIZE_MAX - 1;
    for (int i = last; i > at; i--) {
        layout->sizes_bytes[i] = layout->sizes_bytes[i - 1];
    }
    layout->sizes_bytes[at] = page_bytes;
}

static void collect_sizes(const sli_architecture *architecture, const sli_layout_options *options,
                          sli_layout *layout) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t block_tokens = layout->groups[0].block_tokens;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        int64_t pages_bytes[SLI_STORE_MAX];
        int count = sli_layer_pages(runs[i].mixer, options, block_tokens, pages_bytes);
        for (int j = 0; j < count; j++) {
            add_size(layout, pages_bytes[j]);
        }
    }
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
        int64_t times = block_tokens / sli_common_divisor(align_tokens, block_tokens);
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
    if (made.has_unit) {
        collect_sizes(architecture, options, &made);
    }
    made.is_shareable = is_shareable(&made);
    SL_TRY(align(&made, why, why_bytes));
    *layout = made;
    return SL_OK;
}

/* ---- How it is called ---- */

const char *sli_layout_unit(const sli_layout *layout) {
    int holding = 0;
    for (int i = 0; layout != NULL && i < layout->group_count; i++) {
        holding += layout->groups[i].block_pages > 0;
    }
    return holding > 1 ? "pages" : "blocks";
}
