#include "run/estimate_pages.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"
#include "kv/layout_held.h"
#include "run/request_state.h"

/* ---- Layers ---- */

/* Mixers that a file can name; see model/architecture.c. */
enum { MIXERS_MAX = 64 };

/* A model of some of the layers. How they lie does not depend on their order, so there is one run
 * for each mixer. */
typedef struct stage_model {
    sli_architecture architecture;
    sli_layer_run runs[MIXERS_MAX];
} stage_model;

static sli_layer_run *find_run(stage_model *model, const sli_layer_run *like) {
    sli_table *layers = &model->architecture.layers;
    for (size_t i = 0; i < layers->count; i++) {
        if (model->runs[i].mixer == like->mixer) {
            return &model->runs[i];
        }
    }
    SL_ASSERT(layers->count < MIXERS_MAX);
    sli_layer_run *run = &model->runs[layers->count++];
    *run = *like;
    run->count = 0;
    return run;
}

static void make_stage_model(const sli_architecture *whole, const sli_stage *stage,
                             stage_model *model) {
    const sli_layer_run *runs = whole->layers.rows;
    model->architecture = *whole;
    model->architecture.layers = (sli_table){.rows = model->runs};
    int64_t begin = 0;
    for (size_t i = 0; i < whole->layers.count; begin += runs[i].count, i++) {
        int64_t layers = sli_stage_layers(stage, &runs[i], begin);
        if (layers > 0) {
            find_run(model, &runs[i])->count += layers;
        }
    }
}

/* ---- Pages ---- */

sl_err sli_estimate_lay_out(const sli_estimate_query *query, const sli_stage *layers,
                            sli_diag *diag, sli_layout *layout) {
    sli_layout_options options = {
        .cache = query->cache,
        .block_tokens = query->block_tokens,
        .tp = query->placement.tp,
        .max_batched_tokens = query->max_batched_tokens,
        .max_model_tokens = query->tokens,
        .window_pages = query->window_pages,
        .state_saves = query->state_saves,
    };
    const sli_mark nowhere = {0};
    char why[128];
    stage_model model;
    make_stage_model(query->architecture, layers, &model);
    sl_err err = sli_layout_make(&model.architecture, &options, layout, why, sizeof why);
    if (err != SL_OK) {
        sli_diag_error(diag, nowhere, NULL, "the cache of %s has no pages: %s",
                       query->architecture->id, why);
    }
    return err;
}

/* All tokens but the last. */
static int64_t prompt_of(const sli_estimate_query *query) {
    return sli_max_i64(query->tokens - 1, 1);
}

/* Of rows that a method leaves, in the last step. */
static int64_t kept_pages(const sli_estimate_query *query, const sli_layout *layout) {
    int64_t pages = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        if (group->kind == SLI_GROUP_KEPT) {
            int64_t prompt_tokens = prompt_of(query);
            pages += group->block_pages * sli_group_request_step_blocks(
                                              group, prompt_tokens, prompt_tokens, query->tokens);
        }
    }
    return pages;
}

static sli_layout without_kept(const sli_layout *layout) {
    sli_layout rest = *layout;
    for (int i = 0; i < rest.group_count; i++) {
        sli_group *group = &rest.groups[i];
        group->block_pages = group->kind == SLI_GROUP_KEPT ? 0 : group->block_pages;
    }
    return rest;
}

int64_t sli_estimate_copy_requests(const sli_estimate_query *query) {
    return sli_divide_up(query->requests, query->placement.dp);
}

/* The most of all else that it ever holds with steps of one token. Of the context only rows that
 * grow are shared out. */
int64_t sli_estimate_request_pages(const sli_estimate_query *query, const sli_layout *layout) {
    const sli_group *growing = &layout->groups[0];
    int64_t rank_tokens = sli_divide_up(query->tokens, query->placement.cp);
    int64_t spared_blocks = sli_group_blocks(growing, query->tokens) -
                            sli_group_blocks(growing, rank_tokens);
    sli_layout rest = without_kept(layout);
    return kept_pages(query, layout) + sli_layout_peak_pages(&rest, query->tokens, 1) -
           growing->block_pages * spared_blocks;
}

int64_t sli_estimate_prompt_pages(const sli_estimate_query *query, const sli_layout *layout) {
    int64_t pages = 0;
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        if (group->kind == SLI_GROUP_KEPT) {
            int64_t prompt_tokens = prompt_of(query);
            int64_t slots = sli_kept_most_slots(group->kept, prompt_tokens, query->tokens);
            pages += group->block_pages * sli_divide_up(slots, group->block_tokens);
        }
    }
    return sli_max_i64(pages - kept_pages(query, layout), 0);
}

int64_t sli_estimate_prefix_pages(const sli_estimate_query *query, const sli_layout *layout) {
    const sli_group *growing = &layout->groups[0];
    int64_t tokens = query->shared_tokens / layout->align_tokens * layout->align_tokens;
    int64_t blocks = sli_group_blocks(growing, tokens) / query->placement.cp;
    return layout->is_shareable ? growing->block_pages * blocks : 0;
}

/* ---- What others find ---- */

static bool would_be_shareable(const sli_estimate_query *query, const sli_stage *layers,
                               sli_state_saves state_saves) {
    sli_estimate_query other = *query;
    sli_diag unsaid = {0};
    sli_layout layout;
    other.state_saves = state_saves;
    bool is_shareable = sli_estimate_lay_out(&other, layers, &unsaid, &layout) == SL_OK &&
                        layout.is_shareable;
    sli_diag_fini(&unsaid);
    return is_shareable;
}

/* Of a layout whose contents cannot be found again. */
static sli_unshared find_obstacle(const sli_estimate_query *query, const sli_stage *layers,
                                  const sli_layout *layout) {
    if (query->architecture->keep != NULL) {
        return SLI_UNSHARED_KEPT;
    }
    if (layout->has_buffers) {
        return SLI_UNSHARED_WAITING;
    }
    return would_be_shareable(query, layers, SLI_STATE_ALIGNED) ? SLI_UNSHARED_STATES
                                                                : SLI_UNSHARED_WINDOWS;
}

sl_err sli_estimate_share(const sli_estimate_query *query, sli_diag *diag,
                          sli_estimate_sharing *sharing) {
    sli_stage layers = sli_request_all_layers(query->architecture);
    sli_layout layout;
    *sharing = (sli_estimate_sharing){0};
    if (query->shared_tokens == 0) {
        return SL_OK;
    }
    SL_TRY(sli_estimate_lay_out(query, &layers, diag, &layout));
    int64_t blocks = query->shared_tokens / layout.align_tokens;
    sharing->block_tokens = layout.align_tokens;
    if (!layout.is_shareable) {
        sharing->why = find_obstacle(query, &layers, &layout);
    } else {
        sharing->tokens = blocks * layout.align_tokens;
        sharing->why = blocks == 0 ? SLI_UNSHARED_SHORT : SLI_UNSHARED_NOTHING;
    }
    return SL_OK;
}
