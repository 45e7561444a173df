#include "run/estimate.h"

#include "base/check.h"
#include "model/params.h"
#include "model/state.h"

/* What a scenario has when it says nothing; see run/scenario.c and kv/budget.c. */
enum { BLOCK_TOKENS = 16, BATCHED_TOKENS = 8192, SEQS = 256 };

static const sli_memory_config memory_defaults = {
    .utilization_frac = 0.90,
    .activation_bytes = SLI_AUTO,
    .graphs_bytes = INT64_C(1) << 30,
    .other_bytes = INT64_C(1) << 29,
    .kv_blocks = 1, /* the blocks are counted here */
};

static int64_t divide_up(int64_t amount, int64_t parts) {
    return (amount + parts - 1) / parts;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- One request on some layers ---- */

/* One request of so many tokens, on one rank of tp that has the layers first .. end - 1. */
typedef struct part_query {
    int64_t tokens;
    int64_t shared_tokens;
    int64_t tp;
    int64_t first_layer;
    int64_t end_layer;
} part_query;

typedef struct part_bytes {
    int64_t growing;
    int64_t fixed;
    int64_t prefix; /* part of the growing ones */
    int64_t read;   /* by a decode step */
} part_bytes;

/* A part as one of tp ranks has it. */
static sli_part_facts on_rank(const sli_part_facts *whole, int64_t tp) {
    sli_part_facts facts = *whole;
    for (int i = 0; i < facts.store_count; i++) {
        facts.stores[i].heads = divide_up(facts.stores[i].heads, tp);
    }
    return facts;
}

/* Of the rows that a sequence keeps, those that do not stem from its first `shared_tokens`, the
 * latest. State that is there from the start is left out: it is never shared. */
static int64_t own_rows(const sli_growth *kept, int64_t tokens, int64_t shared_tokens) {
    if (sli_growth_is_constant(kept)) {
        return 0;
    }
    int64_t came = kept->kind == SLI_GROWTH_SAWTOOTH
                       ? tokens - shared_tokens
                       : tokens / kept->step_tokens - shared_tokens / kept->step_tokens;
    return least(came, sli_growth_at(kept, tokens));
}

/* A part that keeps those rows and nothing else. */
static sli_part_facts own_of(const sli_part_facts *facts, const part_query *query) {
    sli_part_facts own = *facts;
    for (int i = 0; i < own.store_count; i++) {
        sli_growth *kept = &own.stores[i].kept;
        *kept = sli_growth_constant(own_rows(kept, query->tokens, query->shared_tokens));
    }
    return own;
}

static part_bytes count_part(const sli_architecture *architecture, const sli_cache_format *cache,
                             const part_query *query) {
    const sli_layer_run *runs = architecture->layers.rows;
    part_bytes sum = {0};
    int64_t begin = 0;
    for (size_t i = 0; i < architecture->layers.count; begin += runs[i].count, i++) {
        int64_t layers = least(begin + runs[i].count, query->end_layer) -
                         most(begin, query->first_layer);
        if (layers <= 0) {
            continue;
        }
        sli_part_facts facts = on_rank(&runs[i].mixer->facts, query->tp);
        sli_part_facts own = own_of(&facts, query);
        sli_state_bytes state = sli_state_part(&facts, cache, query->tokens);
        sum.growing += layers * state.cached;
        sum.fixed += layers * state.fixed;
        sum.prefix += layers * (state.cached - sli_state_part(&own, cache, query->tokens).fixed);
        sum.read += layers * sli_state_part_read(&facts, cache, query->tokens);
    }
    return sum;
}

/* The whole model; with tp as one rank of each stage has it. */
static part_bytes count_request(const sli_estimate_query *query, int64_t tp) {
    part_query all = {
        .tokens = query->tokens,
        .shared_tokens = query->shared_tokens,
        .tp = tp,
        .end_layer = sli_architecture_layers(query->architecture),
    };
    return count_part(query->architecture, query->cache, &all);
}

/* ---- The figures ---- */

static int64_t weight_bytes(const sli_weight_format *format, int64_t params) {
    return divide_up(params, format->group_params) * format->group_bytes;
}

static sli_estimate_cache find_cache(const sli_estimate_query *query, const part_bytes *request) {
    sli_estimate_cache cache = {
        .token_bytes = sli_state_growth(query->architecture, query->cache),
        .growing_bytes = request->growing,
        .fixed_bytes = request->fixed,
        .request_bytes = request->growing + request->fixed,
        .prefix_bytes = request->prefix,
        .saved_bytes = (query->requests - 1) * request->prefix,
    };
    cache.apart_bytes = query->requests * cache.request_bytes;
    cache.total_bytes = cache.apart_bytes - cache.saved_bytes;
    return cache;
}

static sli_estimate_weights find_weights(const sli_estimate_query *query) {
    int64_t params = sli_params_total(query->architecture);
    return (sli_estimate_weights){
        .params = params,
        .token_params = sli_params_matmul(query->architecture),
        .bytes = weight_bytes(query->weights, params),
    };
}

static double time_ns(double bytes, double bytes_per_s) {
    return bytes_per_s > 0.0 ? bytes / bytes_per_s * 1e9 : -1.0;
}

static sli_estimate_step find_step(const sli_estimate_query *query, const part_bytes *request) {
    const sli_weight_format *format = query->weights;
    double touched = sli_params_touched(query->architecture, query->requests);
    sli_estimate_step step = {
        .bandwidth_bytes_per_s = query->bandwidth_bytes_per_s,
        .cache_bytes = (double)query->requests * (double)request->read,
        .weights_bytes = touched * (double)format->group_bytes / (double)format->group_params,
    };
    if (step.bandwidth_bytes_per_s <= 0.0 && query->device != NULL) {
        step.bandwidth_bytes_per_s = query->device->memory_bytes_per_s.value;
    }
    double rank_cache_bytes = (double)query->requests *
                              (double)count_request(query, query->tp).read;
    double rank_weights_bytes = step.weights_bytes / (double)query->tp;
    step.cache_ns = time_ns(rank_cache_bytes, step.bandwidth_bytes_per_s);
    step.weights_ns = time_ns(rank_weights_bytes, step.bandwidth_bytes_per_s);
    step.floor_ns = time_ns(rank_cache_bytes + rank_weights_bytes, step.bandwidth_bytes_per_s);
    return step;
}

static sli_estimate_handoff find_handoff(const sli_estimate_query *query,
                                         const part_bytes *request) {
    sli_estimate_handoff handoff = {
        .link_bytes_per_s = query->link_bytes_per_s,
        .bytes = request->growing + request->fixed,
    };
    if (handoff.link_bytes_per_s <= 0.0 && query->device != NULL) {
        handoff.link_bytes_per_s = query->device->link_bytes_per_s.value;
    }
    handoff.ns = time_ns((double)handoff.bytes, handoff.link_bytes_per_s);
    return handoff;
}

/* ---- The fullest rank ---- */

/* All that is not cache. */
static sli_estimate_fit find_room(const sli_estimate_query *query) {
    sli_budget_query budget_query = {
        .architecture = query->architecture,
        .device = query->device,
        .tp = 1,
        .block_tokens = BLOCK_TOKENS,
        .max_batched_tokens = BATCHED_TOKENS,
        .max_seqs = SEQS,
    };
    sli_budget budget;
    sli_budget_compute(&memory_defaults, &budget_query, &budget);
    int64_t all_weights_bytes = weight_bytes(query->weights, sli_params_total(query->architecture));
    sli_estimate_fit fit = {
        .capacity_bytes = budget.capacity_bytes,
        .usable_bytes = budget.usable_bytes,
        .weights_bytes = divide_up(all_weights_bytes, query->tp * query->pp),
        .activation_bytes = budget.activation_bytes,
        .graphs_bytes = budget.graphs_bytes,
        .other_bytes = budget.other_bytes,
        .max_requests = SLI_UNBOUNDED,
    };
    fit.room_bytes = fit.usable_bytes - fit.weights_bytes - fit.activation_bytes -
                     fit.graphs_bytes - fit.other_bytes;
    return fit;
}

/* Requests that share the prefix of a request and have the rest for themselves. */
static int64_t count_fitting(int64_t room_bytes, const part_bytes *request) {
    int64_t own_bytes = request->growing + request->fixed - request->prefix;
    if (room_bytes < request->prefix + own_bytes) {
        return 0;
    }
    return own_bytes > 0 ? (room_bytes - request->prefix) / own_bytes : SLI_UNBOUNDED;
}

/* Stage s of pp has the layers floor(s L / pp) .. floor((s + 1) L / pp) - 1. Only whole blocks can
 * be shared, and a request takes whole ones; but rows that wait to be quantised lie outside of
 * blocks, and such a cache is counted token by token. */
static part_bytes count_stage(const sli_estimate_query *query, int64_t stage) {
    int64_t layers = sli_architecture_layers(query->architecture);
    int64_t block_tokens = sli_format_has_residual(query->cache) ? 1 : BLOCK_TOKENS;
    part_query part = {
        .tokens = divide_up(query->tokens, block_tokens) * block_tokens,
        .shared_tokens = query->shared_tokens / block_tokens * block_tokens,
        .tp = query->tp,
        .first_layer = stage * layers / query->pp,
        .end_layer = (stage + 1) * layers / query->pp,
    };
    return count_part(query->architecture, query->cache, &part);
}

static sli_estimate_fit find_fit(const sli_estimate_query *query) {
    if (query->device == NULL) {
        return (sli_estimate_fit){0};
    }
    sli_estimate_fit fit = find_room(query);
    for (int64_t stage = 0; stage < query->pp; stage++) {
        part_bytes request = count_stage(query, stage);
        int64_t own_bytes = request.growing + request.fixed - request.prefix;
        fit.cache_bytes = most(fit.cache_bytes, request.prefix + query->requests * own_bytes);
        fit.max_requests = least(fit.max_requests, count_fitting(fit.room_bytes, &request));
    }
    fit.is_met = fit.max_requests >= query->requests;
    return fit;
}

/* ---- All of it ---- */

static sl_err check(const sli_estimate_query *query, const part_bytes *request, sli_diag *diag) {
    const sli_mark nowhere = {0};
    int64_t layers = sli_architecture_layers(query->architecture);
    if (query->shared_tokens >= query->tokens) {
        sli_diag_error(diag, nowhere, NULL,
                       "a shared prefix of %lld tokens leaves a request of %lld tokens nothing of "
                       "its own",
                       (long long)query->shared_tokens, (long long)query->tokens);
        return SL_ERR_CONFIG;
    }
    if (query->pp > layers) {
        sli_diag_error(diag, nowhere, NULL, "%s has %lld layers, too few for %lld stages",
                       query->architecture->id, (long long)layers, (long long)query->pp);
        return SL_ERR_CONFIG;
    }
    double total_bytes = (double)query->requests * (double)(request->growing + request->fixed);
    if (total_bytes > 0x1p62) {
        sli_diag_error(diag, nowhere, NULL, "%lld requests of %lld tokens are beyond all memory",
                       (long long)query->requests, (long long)query->tokens);
        return SL_ERR_CONFIG;
    }
    return SL_OK;
}

sl_err sli_estimate_find(const sli_estimate_query *query, sli_diag *diag, sli_estimate *estimate) {
    SL_ASSERT(query->tokens >= 1 && query->tokens <= SLI_ESTIMATE_TOKENS_MAX);
    SL_ASSERT(query->requests >= 1 && query->requests <= SLI_ESTIMATE_REQUESTS_MAX);
    SL_ASSERT(query->shared_tokens >= 0 && query->tp >= 1 && query->pp >= 1);
    part_bytes request = count_request(query, 1);
    SL_TRY(check(query, &request, diag));
    *estimate = (sli_estimate){
        .cache = find_cache(query, &request),
        .weights = find_weights(query),
        .step = find_step(query, &request),
        .handoff = find_handoff(query, &request),
        .fit = find_fit(query),
    };
    return SL_OK;
}

size_t sli_estimate_placements(const sli_estimate_query *query,
                               sli_placement placements[SLI_PLACEMENTS_MAX]) {
    SL_ASSERT(query->device != NULL);
    int64_t layers = sli_architecture_layers(query->architecture);
    size_t count = 0;
    for (int64_t ranks = 1; ranks <= SLI_PLACEMENT_RANKS_MAX && count == 0; ranks *= 2) {
        for (int64_t tp = least(ranks, SLI_PLACEMENT_TP_MAX); tp >= 1; tp /= 2) {
            sli_estimate_query placed = *query;
            placed.tp = tp;
            placed.pp = ranks / tp;
            if (count < SLI_PLACEMENTS_MAX && placed.pp <= layers && find_fit(&placed).is_met) {
                placements[count++] = (sli_placement){.tp = placed.tp, .pp = placed.pp};
            }
        }
    }
    return count;
}
