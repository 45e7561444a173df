#include "run/estimate.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"
#include "kv/budget.h"
#include "run/estimate_pages.h"
#include "run/estimate_weights.h"
#include "run/request_state.h"

#include <string.h>

/* As a scenario that says nothing (run/scenario.c, kv/budget.c), which a test holds them to. */
enum { SEQS = 256 };

static const sli_memory_config memory_defaults = {
    .utilization_frac = 0.90,
    .activation_bytes = SLI_AUTO,
    .graphs_bytes = INT64_C(1) << 30,
    .other_bytes = INT64_C(1) << 29,
    .kv_blocks = SLI_AUTO,
};

/* No device reaches it, and differences stay below 2^63. */
static const double beyond_bytes = 0x1p62;

/* ---- All that is not cache ---- */

/* All sequences of the copy decode at once. */
static int64_t find_workspace(const sli_estimate_query *query) {
    int64_t chunk_tokens = query->chunk_tokens > 0 ? query->chunk_tokens : query->tokens;
    sli_attention_load load = {
        .query_tokens = sli_min_i64(chunk_tokens, query->tokens),
        .context_tokens = sli_divide_up(query->tokens, query->placement.cp),
        .decodes = sli_estimate_copy_requests(query),
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
    int64_t sequences = decode == SLI_LATENT_EXPANDED    ? sli_estimate_copy_requests(query)
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
        .weights = sli_estimate_weight_formats(query),
        .options = {.tp = 1, .max_batched_tokens = query->max_batched_tokens},
        .max_seqs = SEQS,
    };
    sli_budget budget;
    sli_budget_compute(&memory_defaults, &rule, &budget);
    int64_t buffers_bytes = sli_placement_buffers_bytes(query->architecture, &query->placement,
                                                        query->max_batched_tokens);
    sli_estimate_fit fit = {
        .stage = stage,
        .capacity_bytes = budget.capacity_bytes,
        .usable_bytes = budget.usable_bytes,
        .weights_bytes = sli_estimate_weights_bytes(query, &query->placement, stage),
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

/* ---- What fits ---- */

/* What a request takes, in pages or bytes, how much of it all requests have in common, and what one
 * of them takes besides while its prompt is computed. */
typedef struct need {
    int64_t request;
    int64_t prefix;
    int64_t prompt;
} need;

/* Requests that share the prefix and have the rest for themselves. */
static int64_t count_fitting(int64_t room, const need *of) {
    int64_t own = of->request - of->prefix;
    if (room < of->request + of->prompt) {
        return 0;
    }
    return own > 0 ? (room - of->prefix - of->prompt) / own : SLI_UNBOUNDED;
}

static double total_need(const need *of, int64_t requests) {
    return (double)of->prefix + (double)requests * (double)(of->request - of->prefix);
}

static sl_err fit_in_pages(const sli_estimate_query *query, const sli_stage *stage, sli_diag *diag,
                           sli_estimate_fit *fit) {
    sli_layout layout;
    SL_TRY(sli_estimate_lay_out(query, stage, diag, &layout));
    need pages = {sli_estimate_request_pages(query, &layout),
                  sli_estimate_prefix_pages(query, &layout),
                  sli_estimate_prompt_pages(query, &layout)};
    double cache_bytes = total_need(&pages, sli_estimate_copy_requests(query)) *
                         (double)layout.page_bytes;
    if (cache_bytes > beyond_bytes) {
        const sli_mark nowhere = {0};
        sli_diag_error(diag, nowhere, NULL, "pages of %lld requests are beyond all memory",
                       (long long)query->requests);
        return SL_ERR_CONFIG;
    }
    fit->page_bytes = layout.page_bytes;
    fit->has_unit = layout.has_unit;
    fit->size_count = layout.size_count;
    memcpy(fit->sizes_bytes, layout.sizes_bytes, sizeof fit->sizes_bytes);
    fit->block_tokens = layout.groups[0].block_pages > 0 ? layout.groups[0].block_tokens : 0;
    fit->pages = sli_max_i64(fit->room_bytes, 0) / layout.page_bytes;
    fit->request_pages = pages.request;
    fit->cache_bytes = (int64_t)cache_bytes;
    fit->prompt_bytes = pages.prompt * layout.page_bytes;
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
    int64_t requests = sli_estimate_copy_requests(query);
    int64_t request_bytes = request.growing_bytes + request.fixed_bytes;
    sli_estimate_fit found = find_room(query, number);
    found.max_requests = SLI_UNBOUNDED;
    if (request_bytes > 0) {
        SL_TRY(fit_in_pages(query, &part.layers, diag, &found));
    }
    found.max_requests = found.room_bytes < 0 ? 0 : found.max_requests;
    need logical = {request_bytes, request.prefix_bytes, 0};
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
    return a->room_bytes - a->cache_bytes - a->prompt_bytes <
           b->room_bytes - b->cache_bytes - b->prompt_bytes;
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

bool sli_estimate_fits(const sli_estimate_query *query) {
    sli_diag unsaid = {0};
    bool fits = true;
    for (int64_t stage = 0; stage < query->placement.pp && fits; stage++) {
        sli_estimate_fit fit;
        fits = fit_stage(query, stage, &unsaid, &fit) == SL_OK && fit.is_met;
    }
    sli_diag_fini(&unsaid);
    return fits;
}
