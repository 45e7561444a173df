#include "run/estimate.h"

#include "base/check.h"
#include "base/minmax.h"
#include "model/parallel.h"
#include "model/params.h"
#include "model/state.h"
#include "run/estimate_pages.h"
#include "run/estimate_weights.h"
#include "run/request_state.h"

/* As a scenario that says nothing (run/scenario.c), which a test holds it to. */
sli_estimate_query sli_estimate_defaults(void) {
    return (sli_estimate_query){
        .cache = &sli_cache_formats[0],
        .tokens = 32768,
        .requests = 1,
        .placement = sli_placement_alone,
        .block_tokens = 16,
        .max_batched_tokens = 8192,
    };
}

/* A request in all layers, on one rank of each stage. */
static sli_request_state count_request(const sli_estimate_query *query,
                                       const sli_placement *placement) {
    sli_request_query all = {
        .architecture = query->architecture,
        .cache = query->cache,
        .placement = placement,
        .layers = sli_request_all_layers(query->architecture),
        .tokens = query->tokens,
        .shared_tokens = query->shared_tokens,
    };
    return sli_request_state_count(&all);
}

/* ---- Bytes ---- */

static sli_estimate_cache find_cache(const sli_estimate_query *query,
                                     const sli_request_state *request) {
    sli_estimate_cache cache = {
        .token_bytes = sli_state_growth(query->architecture, query->cache),
        .growing_bytes = request->growing_bytes,
        .fixed_bytes = request->fixed_bytes,
        .request_bytes = request->growing_bytes + request->fixed_bytes,
        .prefix_bytes = request->prefix_bytes,
        .saved_bytes = (query->requests - 1) * request->prefix_bytes,
    };
    cache.apart_bytes = query->requests * cache.request_bytes;
    cache.total_bytes = cache.apart_bytes - cache.saved_bytes;
    return cache;
}

static sli_estimate_weights find_weights(const sli_estimate_query *query) {
    return (sli_estimate_weights){
        .params = sli_params_total(query->architecture),
        .token_params = sli_params_matmul(query->architecture),
        .bytes = sli_estimate_all_weights_bytes(query),
    };
}

/* ---- Work ---- */

static int64_t chunk_tokens(const sli_estimate_query *query) {
    return query->chunk_tokens > 0 ? query->chunk_tokens : query->tokens;
}

/* Heads and tokens are shared out; a prompt is computed by one copy, stage after stage. */
static double attention_ns(const sli_estimate_query *query, double flops) {
    if (query->kernel == NULL || query->device == NULL) {
        return -1.0;
    }
    double ranks = (double)(query->placement.tp * query->placement.cp);
    double flops_per_s = query->kernel->flops_share * query->device->bf16_flops_per_s.value;
    return flops / (ranks * flops_per_s) * 1e9;
}

static sli_estimate_work find_work(const sli_estimate_query *query) {
    const sli_architecture *architecture = query->architecture;
    double requests = (double)query->requests;
    double token_params = (double)sli_params_matmul(architecture);
    double head_params = (double)sli_params_vocab(architecture);
    double tokens = (double)query->tokens;
    sli_estimate_work work = {
        .decode_linear_flops = 2.0 * token_params * requests,
        .decode_attention_flops = requests * sli_attention_decode_flops(
                                                 architecture, query->decode_way, query->tokens),
        .prefill_linear_flops = 2.0 * ((token_params - head_params) * tokens + head_params),
        .prefill_attention_flops = sli_attention_prefill_flops(architecture, query->prefill_way,
                                                               query->tokens, chunk_tokens(query)),
        .has_latents = sli_attention_has_latents(architecture),
    };
    work.prefill_attention_ns = attention_ns(query, work.prefill_attention_flops);
    if (work.has_latents) {
        work.decode_way = sli_attention_decode_way(architecture, query->decode_way);
        work.prefill_way = sli_attention_prefill_way(architecture, query->prefill_way);
        work.remade_tokens = work.prefill_way == SLI_LATENT_EXPANDED
                                 ? sli_attention_remade_tokens(query->tokens, chunk_tokens(query))
                                 : 0;
    }
    return work;
}

/* ---- Times ---- */

static double time_ns(double bytes, double bytes_per_s) {
    return bytes_per_s > 0.0 ? bytes / bytes_per_s * 1e9 : -1.0;
}

static sli_estimate_step find_step(const sli_estimate_query *query,
                                   const sli_request_state *request) {
    sli_estimate_step step = {
        .bandwidth_bytes_per_s = query->bandwidth_bytes_per_s,
        .cache_bytes = (double)query->requests * (double)request->read_bytes,
        .weights_bytes = sli_estimate_touched_bytes(query, &sli_placement_alone),
    };
    if (step.bandwidth_bytes_per_s <= 0.0 && query->device != NULL) {
        step.bandwidth_bytes_per_s = query->device->memory_bytes_per_s.value;
    }
    const sli_placement *placement = &query->placement;
    double rank_cache_bytes = (double)sli_estimate_copy_requests(query) *
                              (double)count_request(query, placement).read_bytes;
    double rank_weights_bytes = sli_estimate_touched_bytes(query, placement);
    step.cache_ns = time_ns(rank_cache_bytes, step.bandwidth_bytes_per_s);
    step.weights_ns = time_ns(rank_weights_bytes, step.bandwidth_bytes_per_s);
    step.floor_ns = time_ns(rank_cache_bytes + rank_weights_bytes, step.bandwidth_bytes_per_s);
    return step;
}

static sli_estimate_handoff find_handoff(const sli_estimate_query *query,
                                         const sli_request_state *request) {
    sli_estimate_handoff handoff = {
        .link_bytes_per_s = query->link_bytes_per_s,
        .bytes = request->growing_bytes + request->fixed_bytes,
    };
    if (handoff.link_bytes_per_s <= 0.0 && query->device != NULL) {
        handoff.link_bytes_per_s = query->device->link_bytes_per_s.value;
    }
    handoff.ns = time_ns((double)handoff.bytes, handoff.link_bytes_per_s);
    return handoff;
}

/* ---- What cannot be asked ---- */

/* A query is no file that there were a place in. */
static const sli_mark nowhere = {0};

static sl_err check_prefix(const sli_estimate_query *query, sli_diag *diag) {
    if (query->shared_tokens < query->tokens) {
        return SL_OK;
    }
    sli_diag_error(diag, nowhere, NULL,
                   "a shared prefix of %lld tokens leaves a request of %lld tokens nothing of its "
                   "own",
                   (long long)query->shared_tokens, (long long)query->tokens);
    return SL_ERR_CONFIG;
}

static sl_err check_ways(const sli_estimate_query *query, sli_diag *diag) {
    bool asks_for_ways = query->decode_way != SLI_LATENT_AS_MODEL ||
                         query->prefill_way != SLI_LATENT_AS_MODEL;
    if (!asks_for_ways || sli_attention_has_latents(query->architecture)) {
        return SL_OK;
    }
    sli_diag_error(diag, nowhere, NULL,
                   "%s has no latents, which alone can be absorbed or expanded; models of kind mla "
                   "have",
                   query->architecture->id);
    return SL_ERR_CONFIG;
}

static sl_err check_kept(const sli_estimate_query *query, sli_diag *diag) {
    if (query->architecture->keep == NULL || query->placement.cp == 1) {
        return SL_OK;
    }
    sli_diag_error(diag, nowhere, NULL,
                   "%s throws tokens out of a whole context; parts of one on ranks of their own "
                   "(cp %lld) are not counted",
                   query->architecture->keep, (long long)query->placement.cp);
    return SL_ERR_CONFIG;
}

static sl_err check_experts(const sli_estimate_query *query, sli_diag *diag) {
    if (query->expert_weights == NULL || sli_params_fewest_experts(query->architecture) > 0) {
        return SL_OK;
    }
    sli_diag_error(diag, nowhere, NULL,
                   "%s has no routed experts, whose weights could have a format of their own",
                   query->architecture->id);
    return SL_ERR_CONFIG;
}

static sl_err check_amount(const sli_estimate_query *query, const sli_request_state *request,
                           sli_diag *diag) {
    double request_bytes = (double)(request->growing_bytes + request->fixed_bytes);
    if ((double)query->requests * request_bytes <= 0x1p62) {
        return SL_OK;
    }
    sli_diag_error(diag, nowhere, NULL, "%lld requests of %lld tokens are beyond all memory",
                   (long long)query->requests, (long long)query->tokens);
    return SL_ERR_CONFIG;
}

/* The first reason why it cannot be asked. */
static sl_err check(const sli_estimate_query *query, const sli_request_state *request,
                    sli_diag *diag) {
    SL_TRY(check_prefix(query, diag));
    SL_TRY(check_ways(query, diag));
    SL_TRY(check_kept(query, diag));
    SL_TRY(check_experts(query, diag));
    SL_TRY(check_amount(query, request, diag));
    return sli_parallel_check_placement(query->architecture, &query->placement, diag);
}

/* ---- All of it ---- */

sl_err sli_estimate_find(const sli_estimate_query *query, sli_diag *diag, sli_estimate *estimate) {
    SL_ASSERT(query->tokens >= 1 && query->tokens <= SLI_ESTIMATE_TOKENS_MAX);
    SL_ASSERT(query->requests >= 1 && query->requests <= SLI_ESTIMATE_REQUESTS_MAX);
    SL_ASSERT(query->shared_tokens >= 0 && query->block_tokens >= 1);
    sli_request_state alone = count_request(query, &sli_placement_alone);
    sli_estimate_sharing sharing;
    sli_estimate_fit fit = {0};
    SL_TRY(check(query, &alone, diag));
    SL_TRY(sli_estimate_share(query, diag, &sharing));
    sli_estimate_query found = *query;
    found.shared_tokens = sharing.tokens;
    if (query->device != NULL) {
        SL_TRY(sli_estimate_fit_find(&found, diag, &fit));
    }
    sli_request_state request = count_request(&found, &sli_placement_alone);
    *estimate = (sli_estimate){
        .sharing = sharing,
        .cache = find_cache(&found, &request),
        .weights = find_weights(&found),
        .work = find_work(&found),
        .step = find_step(&found, &request),
        .handoff = find_handoff(&found, &request),
        .fit = fit,
    };
    return SL_OK;
}
