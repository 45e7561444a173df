#include "run/estimate.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"
#include "kv/budget.h"
#include "kv/layout_held.h"
#include "model/parallel.h"
#include "run/request_state.h"

/* What a scenario has when it says nothing; see run/scenario.c and kv/budget.c. */
enum { BATCHED_TOKENS = 8192, SEQS = 256 };

static const sli_memory_config memory_defaults = {
    .utilization_frac = 0.90,
    .activation_bytes = SLI_AUTO,
    .graphs_bytes = INT64_C(1) << 30,
    .other_bytes = INT64_C(1) << 29,
    .kv_blocks = SLI_AUTO,
};

/* No device reaches it, and differences stay below 2^63. */
static const double beyond_bytes = 0x1p62;

/* Of the copy of the attention that has most of them. */
static int64_t requests_of_copy(const sli_estimate_query *query) {
    return sli_divide_up(query->requests, query->placement.dp);
}

/* ---- All that is not cache ---- */

/* All sequences of the copy decode at once. */
static int64_t find_workspace(const sli_estimate_query *query) {
    int64_t chunk_tokens = query->chunk_tokens > 0 ? query->chunk_tokens : query->tokens;
    sli_attention_load load = {
        .query_tokens = sli_min_i64(chunk_tokens, query->tokens),
        .context_tokens = sli_divide_up(query->tokens, query->placement.cp),
        .decodes = requests_of_copy(query),
        .tp = query->placement.tp,
    };
    return query->kernel != NULL
               ? sli_attention_workspace_bytes(query->architecture, query->kernel, &load)
               : 0;
}

/* Of one prompt, or of all sequences that decode; counted only where they are asked about, as a run
 * takes them to be part of the activations. */
static int64_t find_expanded(const sli_estimate_query *query) {
    const sli_architecture *architecture = query->architecture;
    bool is_asked = query->kernel != NULL || query->decode_way != SLI_LATENT_AS_MODEL ||
                    query->prefill_way != SLI_LATENT_AS_MODEL;
    if (!is_asked || !sli_attention_has_latents(architecture)) {
        return 0;
    }
    sli_latent_way decode = sli_attention_decode_way(architecture, query->decode_way);
    sli_latent_way prefill = sli_attention_prefill_way(architecture, query->prefill_way);
    int64_t sequences = decode == SLI_LATENT_EXPANDED    ? requests_of_copy(query)
                        : prefill == SLI_LATENT_EXPANDED ? 1
                                                         : 0;
    return sli_attention_expanded_bytes(
        architecture, sequences * sli_divide_up(query->tokens, query->placement.cp),
        query->placement.tp);
}

static sli_estimate_fit find_room(const sli_estimate_query *query, int64_t stage) {
    sli_budget_query rule = {
        .architecture = query->architecture,
        .device = query->device,
        .weights = query->weights,
        .options = {.tp = 1, .max_batched_tokens = BATCHED_TOKENS},
        .max_seqs = SEQS,
    };
    sli_budget budget;
    sli_budget_compute(&memory_defaults, &rule, &budget);
    int64_t buffers_bytes = sli_placement_buffers_bytes(query->architecture, &query->placement,
                                                        BATCHED_TOKENS);
    sli_estimate_fit fit = {
        .stage = stage,
        .capacity_bytes = budget.capacity_bytes,
        .usable_bytes = budget.usable_bytes,
        .weights_bytes = sli_placement_weights_bytes(query->architecture, query->weights,
                                                     &query->placement, stage),
        .activation_bytes = budget.activation_bytes,
        .workspace_bytes = find_workspace(query),
        .expanded_bytes = find_expanded(query),
        .buffers_bytes = buffers_bytes,
        .graphs_bytes = budget.graphs_bytes,
        .other_bytes = sli_max_i64(budget.other_bytes - buffers_bytes, 0),
    };
    fit.room_bytes = fit.usable_bytes - fit.weights_bytes - fit.activation_bytes -
                     fit.workspace_bytes - fit.expanded_bytes - fit.buffers_bytes -
                     fit.graphs_bytes - fit.other_bytes;
    return fit;
}

/* ---- Pages of a stage ---- */

/* Mixers that a file can name; see model/architecture.c. */
enum { MIXERS_MAX = 64 };

/* A model of the layers of a stage. How they lie does not depend on their order, so there is one
 * run for each mixer. */
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

static sl_err lay_out(const sli_estimate_query *query, const sli_stage *stage, sli_diag *diag,
                      sli_layout *layout) {
    sli_layout_options options = {
        .cache = query->cache,
        .block_tokens = query->block_tokens,
        .tp = query->placement.tp,
        .max_batched_tokens = BATCHED_TOKENS,
        .max_model_tokens = query->tokens,
        .window_pages = query->window_pages,
        .state_saves = SLI_STATE_ALIGNED,
    };
    const sli_mark nowhere = {0};
    char why[128];
    stage_model model;
    make_stage_model(query->architecture, stage, &model);
    sl_err err = sli_layout_make(&model.architecture, &options, layout, why, sizeof why);
    if (err != SL_OK) {
        sli_diag_error(diag, nowhere, NULL, "the cache of %s has no pages: %s",
                       query->architecture->id, why);
    }
    return err;
}

/* While it decodes: the most that it ever holds with steps of one token. Of the context only rows
 * that grow are shared out. */
static int64_t request_pages(const sli_estimate_query *query, const sli_layout *layout) {
    const sli_group *growing = &layout->groups[0];
    int64_t rank_tokens = sli_divide_up(query->tokens, query->placement.cp);
    int64_t spared_blocks = sli_group_blocks(growing, query->tokens) -
                            sli_group_blocks(growing, rank_tokens);
    return sli_layout_peak_pages(layout, query->tokens, 1) - growing->block_pages * spared_blocks;
}

/* Whole blocks of what grows; pages of windows and states are never taken to be shared. */
static int64_t prefix_pages(const sli_estimate_query *query, const sli_layout *layout) {
    const sli_group *growing = &layout->groups[0];
    int64_t tokens = query->shared_tokens / layout->align_tokens * layout->align_tokens;
    int64_t blocks = sli_group_blocks(growing, tokens) / query->placement.cp;
    return layout->is_shareable ? growing->block_pages * blocks : 0;
}

/* ---- What fits ---- */

/* What a request takes, in pages or bytes, and how much of it all requests have in common. */
typedef struct need {
    int64_t request;
    int64_t prefix;
} need;

/* Requests that share the prefix and have the rest for themselves. */
static int64_t count_fitting(int64_t room, const need *of) {
    int64_t own = of->request - of->prefix;
    if (room < of->request) {
        return 0;
    }
    return own > 0 ? (room - of->prefix) / own : SLI_UNBOUNDED;
}

static double total_need(const need *of, int64_t requests) {
    return (double)of->prefix + (double)requests * (double)(of->request - of->prefix);
}

/* Token by token. */
static sl_err fit_without_pages(const sli_estimate_query *query, const sli_request_state *request,
                                sli_estimate_fit *fit) {
    need bytes = {request->growing_bytes + request->fixed_bytes, request->prefix_bytes};
    fit->cache_bytes = (int64_t)total_need(&bytes, requests_of_copy(query));
    fit->max_requests = count_fitting(fit->room_bytes, &bytes);
    return SL_OK;
}

static sl_err fit_in_pages(const sli_estimate_query *query, const sli_stage *stage, sli_diag *diag,
                           sli_estimate_fit *fit) {
    sli_layout layout;
    SL_TRY(lay_out(query, stage, diag, &layout));
    need pages = {request_pages(query, &layout), prefix_pages(query, &layout)};
    double cache_bytes = total_need(&pages, requests_of_copy(query)) * (double)layout.page_bytes;
    if (cache_bytes > beyond_bytes) {
        const sli_mark nowhere = {0};
        sli_diag_error(diag, nowhere, NULL, "pages of %lld requests are beyond all memory",
                       (long long)query->requests);
        return SL_ERR_CONFIG;
    }
    fit->page_bytes = layout.page_bytes;
    fit->block_tokens = layout.groups[0].block_pages > 0 ? layout.groups[0].block_tokens : 0;
    fit->pages = sli_max_i64(fit->room_bytes, 0) / layout.page_bytes;
    fit->request_pages = pages.request;
    fit->cache_bytes = (int64_t)cache_bytes;
    fit->max_requests = count_fitting(fit->pages, &pages);
    return SL_OK;
}

static sl_err fit_stage(const sli_estimate_query *query, int64_t number, sli_diag *diag,
                        sli_estimate_fit *fit) {
    sli_request_query part = {
        .architecture = query->architecture,
        .cache = query->cache,
        .placement = &query->placement,
        .layers = sli_placement_stage(query->architecture, &query->placement, number),
        .tokens = query->tokens,
        .shared_tokens = query->shared_tokens,
    };
    sli_request_state request = sli_request_state_count(&part);
    int64_t requests = requests_of_copy(query);
    int64_t request_bytes = request.growing_bytes + request.fixed_bytes;
    bool has_pages = request_bytes > 0 && !sli_format_has_residual(query->cache);
    sli_estimate_fit found = find_room(query, number);
    SL_TRY(has_pages ? fit_in_pages(query, &part.layers, diag, &found)
                     : fit_without_pages(query, &request, &found));
    need logical = {request_bytes, request.prefix_bytes};
    found.wasted_bytes = found.cache_bytes - (int64_t)total_need(&logical, requests);
    found.state_bytes = requests * request.fixed_bytes;
    if (found.max_requests != SLI_UNBOUNDED) {
        found.max_requests *= query->placement.dp;
    }
    found.is_met = found.max_requests >= query->requests;
    *fit = found;
    return SL_OK;
}

static bool is_fuller(const sli_estimate_fit *a, const sli_estimate_fit *b) {
    if (a->max_requests != b->max_requests) {
        return a->max_requests < b->max_requests;
    }
    return a->room_bytes - a->cache_bytes < b->room_bytes - b->cache_bytes;
}

sl_err sli_estimate_fit_find(const sli_estimate_query *query, sli_diag *diag,
                             sli_estimate_fit *fit) {
    sli_estimate_fit fullest;
    SL_TRY(fit_stage(query, 0, diag, &fullest));
    for (int64_t stage = 1; stage < query->placement.pp; stage++) {
        sli_estimate_fit other;
        SL_TRY(fit_stage(query, stage, diag, &other));
        fullest = is_fuller(&other, &fullest) ? other : fullest;
    }
    *fit = fullest;
    return SL_OK;
}

/* ---- Placements ---- */

static bool is_met_by(const sli_estimate_query *query, const sli_placement *placement) {
    sli_estimate_query placed = *query;
    placed.placement = *placement;
    if (!sli_parallel_can_place(query->architecture, placement)) {
        return false;
    }
    sli_diag unsaid = {0};
    sli_estimate_fit fit;
    bool is_met = sli_estimate_fit_find(&placed, &unsaid, &fit) == SL_OK && fit.is_met;
    sli_diag_fini(&unsaid);
    return is_met;
}

size_t sli_estimate_placements(const sli_estimate_query *query,
                               sli_placement placements[SLI_PLACEMENTS_MAX]) {
    SL_ASSERT(query->device != NULL);
    size_t count = 0;
    for (int64_t ranks = 1; ranks <= SLI_PLACEMENT_RANKS_MAX && count == 0; ranks *= 2) {
        for (int64_t tp = sli_min_i64(ranks, SLI_PLACEMENT_TP_MAX); tp >= 1; tp /= 2) {
            sli_placement placement = query->placement;
            placement.tp = tp;
            placement.pp = ranks / tp;
            if (count < SLI_PLACEMENTS_MAX && is_met_by(query, &placement)) {
                placements[count++] = placement;
            }
        }
    }
    return count;
}
